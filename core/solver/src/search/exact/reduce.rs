//! What can be decided without a table, losing nothing: nodes where no roles compete, and sets of roles with more
//! nodes of their own than replicas.

use std::collections::BTreeMap;

use super::instance::Instance;

/// Decides what needs no search. False if some role has fewer places left than are wanted of it.
pub(super) fn reduce(instance: &mut Instance) -> bool {
    loop {
        let before = instance.wanted.clone();
        if !has_enough_places(instance) {
            return false;
        }
        absorb(instance);
        give_sets_their_own(instance);
        if instance.is_settled() || before == instance.wanted {
            return true;
        }
    }
}

/// Necessary: for each role the places on all nodes, each node for itself, reach what is wanted.
fn has_enough_places(instance: &Instance) -> bool {
    (0..instance.roles.len()).all(|role| {
        let mut places = 0_i64;
        for host in &instance.hosts {
            places = places.saturating_add(instance.cap(host.class, role));
            if places >= instance.wanted[role] {
                return true;
            }
        }
        places >= instance.wanted[role]
    })
}

/// A node that hosts its most of every role at once takes all of it: no other choice of it is better.
fn absorb(instance: &mut Instance) {
    let mut hosts = std::mem::take(&mut instance.hosts);
    // By class, how many nodes had been absorbed when its roles were last seen to compete: until another one is, they
    // still do.
    let mut competing = vec![usize::MAX; instance.classes.len()];
    let mut absorbed = 0;
    hosts.retain(|host| {
        if competing[host.class] == absorbed {
            return true;
        }
        if !instance.is_without_conflict(host.class) {
            competing[host.class] = absorbed;
            return true;
        }
        for role in 0..instance.roles.len() {
            instance.seat(host.node, role, instance.cap(host.class, role));
        }
        absorbed += 1;
        false
    });
    instance.hosts = hosts;
}

/// If the nodes that host exactly the roles of a set are at least as many as the replicas of the set, each replica
/// gets a node of its own there. Those nodes host no other role, so nothing is lost.
fn give_sets_their_own(instance: &mut Instance) {
    let roles = instance.roles.len();
    let set_of = |instance: &Instance, class: usize| {
        (0..roles).filter(|role| instance.cap(class, *role) > 0).fold(0_u64, |set, role| set | 1 << role)
    };
    let mut nodes_of: BTreeMap<u64, i64> = BTreeMap::new();
    for host in &instance.hosts {
        *nodes_of.entry(set_of(instance, host.class)).or_default() += 1;
    }
    for (set, nodes) in nodes_of {
        let members: Vec<usize> = (0..roles).filter(|role| set & 1 << role != 0).collect();
        let wanted = members.iter().map(|role| instance.wanted[*role]).fold(0, i64::saturating_add);
        if set == 0 || nodes < wanted {
            continue;
        }
        let hosts = std::mem::take(&mut instance.hosts);
        let (own, rest): (Vec<_>, Vec<_>) =
            hosts.into_iter().partition(|host| set_of(instance, host.class) == set);
        let mut own = own.into_iter();
        for role in members {
            while instance.wanted[role] > 0
                && let Some(host) = own.next()
            {
                instance.seat(host.node, role, 1);
            }
        }
        instance.hosts = rest;
        return;
    }
}
