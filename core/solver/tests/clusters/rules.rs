//! Random small clusters in which every rule is in play, and random options.

use std::collections::BTreeMap;

use gangplan_solver::document::{
    Bypass, Closeness, FairShare, Fill, Gang, Group, NamespaceQuota, ReplicaAffinity, Running, Slice,
    Snapshot, SolveOptions, Spread,
};

use super::{Tape, amounts, member, texts};

/// A cluster of [`super::snapshot`], whose gangs have rules about more than one replica, whose queues share, and whose
/// nodes have zones; some gangs run in part, wherever chance has put them.
pub fn snapshot_with_rules(bytes: &[u8]) -> Snapshot {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let mut snapshot = super::snapshot(first);
    let mut tape = Tape::new(second);
    snapshot.gangs.truncate(3);
    let names: Vec<String> = snapshot.gangs.iter().map(|gang| gang.name.clone()).collect();
    let remains = |held: &Running| held.gang.as_ref().is_none_or(|gang| names.contains(gang));
    snapshot.running.retain(remains);
    for node in &mut snapshot.nodes {
        let feed = tape.pick(&["left", "right"]);
        node.labels.insert("feed".to_owned(), feed.to_owned());
        if tape.once_in(4) {
            node.zones = vec![amounts(&[("cpu", tape.range(1, 6))]), amounts(&[("cpu", tape.range(1, 6))])];
        }
    }
    share(&mut snapshot, &mut tape);
    let nodes: Vec<String> = snapshot.nodes.iter().map(|node| node.name.clone()).collect();
    for held in snapshot.running.iter_mut().filter(|held| held.gang.is_none()) {
        held.labels = texts(&[("kind", tape.pick(&["x", "y"]))]);
    }
    for index in 0..snapshot.gangs.len() {
        let gang = &mut snapshot.gangs[index];
        give_rules(gang, &mut tape);
        let gang = gang.clone();
        let runs = snapshot.running.iter().any(|held| held.gang.as_ref() == Some(&gang.name));
        if !runs && tape.once_in(3) {
            for role in &gang.roles {
                for index in (0..role.replicas).filter(|_| tape.once_in(3)).collect::<Vec<_>>() {
                    let on = tape.pick(&nodes);
                    snapshot.running.push(member(&gang.name, &role.name, index, &on));
                }
            }
        }
    }
    snapshot
}

/// Random options, the search for changes included.
pub fn options(tape: &mut Tape<'_>) -> SolveOptions {
    SolveOptions {
        placement: tape.pick(&[Fill::Pack, Fill::Spread]),
        fair_share: tape.pick(&[FairShare::Quota, FairShare::Weight, FairShare::Drf]),
        bypass: tape.pick(&[Bypass::Free, Bypass::Free, Bypass::None, Bypass::Earmark]),
        finish_broken_first: tape.once_in(3),
        nonpreemptible_within_deserved: tape.once_in(4),
        ..SolveOptions::default()
    }
}

/// What queues deserve, keep and weigh; a quota of the namespace of all gangs.
fn share(snapshot: &mut Snapshot, tape: &mut Tape<'_>) {
    for queue in &mut snapshot.queues {
        queue.weight = i64::from(tape.below(4));
        if tape.once_in(3) {
            queue.deserved = Some(amounts(&[("gpu", tape.below(12))]));
        }
        if tape.once_in(3) && queue.parent.is_some() {
            queue.guarantee = amounts(&[("cpu", tape.below(8))]);
        }
    }
    if tape.once_in(5) {
        let (hard, used) = (amounts(&[("cpu", tape.range(4, 30))]), amounts(&[("cpu", tape.below(6))]));
        snapshot.quotas.push(NamespaceQuota { namespace: String::new(), hard, used });
    }
}

/// Some closeness, or none.
fn closeness(tape: &mut Tape<'_>) -> Option<Closeness> {
    if tape.once_in(2) {
        return None;
    }
    let mut asked = Closeness::default();
    let level = |tape: &mut Tape<'_>| tape.pick(&["zone", "rack", "node"]).to_owned();
    match tape.below(4) {
        0 => asked.required = Some(level(tape)),
        1 => asked.preferred = Some(level(tape)),
        _ => {}
    }
    match tape.below(6) {
        0 => asked.slices.push(Slice { level: level(tape), size: 2 }),
        1 => asked.spread.push(Spread { level: level(tape), most: i64::from(tape.range(1, 3)) }),
        2 => {
            asked.slices.push(Slice { level: "rack".to_owned(), size: 2 });
            asked.slices.push(Slice { level: "node".to_owned(), size: 1 });
        }
        3 => asked.balanced = true,
        _ => {}
    }
    Some(asked)
}

fn affinity(tape: &mut Tape<'_>, gang: &str) -> ReplicaAffinity {
    let own = [("gangplan.dev/gang", gang)];
    let ps = [("gangplan.dev/gang", gang), ("gangplan.dev/role", "ps")];
    let whom = match tape.below(4) {
        0 => texts(&own),
        1 => texts(&ps),
        _ => texts(&[("kind", tape.pick(&["x", "y"]))]),
    };
    ReplicaAffinity {
        level: tape.pick(&["node", "rack", "zone", "feed"]).to_owned(),
        match_labels: whom,
        anti: tape.once_in(2),
        required: !tape.once_in(4),
    }
}

fn give_rules(gang: &mut Gang, tape: &mut Tape<'_>) {
    if tape.once_in(2) {
        gang.topology = closeness(tape);
    }
    gang.preemptible = !tape.once_in(4);
    if tape.once_in(3) {
        gang.runtime_s = Some(i64::from(tape.range(1, 90)));
    }
    let name = gang.name.clone();
    for role in &mut gang.roles {
        role.labels = texts(&[("kind", tape.pick(&["x", "y"]))]);
        if tape.once_in(3) {
            role.topology = closeness(tape);
        }
        if tape.once_in(5) {
            role.replica_affinity.push(affinity(tape, &name));
        }
        role.single_zone = tape.once_in(6);
        role.priority = i64::from(tape.below(2));
        if tape.once_in(4) {
            role.min = Some(below(tape, role.replicas));
        }
    }
    let all: i64 = gang.roles.iter().map(|role| role.replicas).sum();
    if tape.once_in(5) {
        gang.min_member = Some(below(tape, all));
    }
    if tape.once_in(4) {
        give_groups(gang, tape);
    }
}

/// A number from 0 to `most`.
fn below(tape: &mut Tape<'_>, most: i64) -> i64 {
    i64::from(tape.below(u8::try_from(most + 1).expect("small gangs")))
}

/// A group for each role, perhaps below a common one.
fn give_groups(gang: &mut Gang, tape: &mut Tape<'_>) {
    let has_parent = tape.once_in(2);
    for role in &gang.roles {
        gang.groups.push(Group {
            name: format!("of-{}", role.name),
            roles: vec![role.name.clone()],
            parent: has_parent.then(|| "all".to_owned()),
            topology: closeness(tape),
            min: tape.once_in(2).then(|| below(tape, role.replicas)),
            set: Some("s".to_owned()),
        });
    }
    if has_parent {
        gang.groups.push(Group { name: "all".to_owned(), topology: closeness(tape), ..Group::default() });
    }
    if tape.once_in(2) {
        let most = i64::try_from(gang.roles.len()).expect("few roles");
        gang.min_groups = BTreeMap::from([("s".to_owned(), below(tape, most))]);
    }
}
