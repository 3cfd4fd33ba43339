//! The snapshot by name, and the replicas that a plan puts on its nodes.

use std::collections::BTreeMap;

use crate::document::{Gang, Group, Node, Plan, Queue, Role, Running, Snapshot};

/// The snapshot by name.
pub(super) struct Cluster<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) nodes: BTreeMap<&'a str, &'a Node>,
    pub(super) gangs: BTreeMap<&'a str, &'a Gang>,
    pub(super) queues: BTreeMap<&'a str, &'a Queue>,
    /// Replicas that hold a place, by gang and role.
    members: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Running>>>,
    /// How many replicas are leaving, by gang and role.
    leaving: BTreeMap<&'a str, BTreeMap<&'a str, usize>>,
}

/// One replica that a plan places, where all names are known.
pub(super) struct Placed<'a> {
    pub(super) gang: &'a Gang,
    pub(super) role: &'a Role,
    pub(super) node: &'a Node,
    pub(super) index: usize,
}

impl<'a> Cluster<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
        let mut members: BTreeMap<&str, BTreeMap<&str, Vec<&Running>>> = BTreeMap::new();
        let mut leaving: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for running in &snapshot.running {
            if let (Some(gang), Some(role), true) = (&running.gang, &running.role, running.terminating) {
                *leaving.entry(gang).or_default().entry(role).or_default() += 1;
            } else if let (Some(gang), Some(role)) = (&running.gang, &running.role) {
                members.entry(gang).or_default().entry(role).or_default().push(running);
            }
        }
        Self {
            snapshot,
            nodes: snapshot.nodes.iter().map(|node| (node.name.as_str(), node)).collect(),
            gangs: snapshot.gangs.iter().map(|gang| (gang.name.as_str(), gang)).collect(),
            queues: snapshot.queues.iter().map(|queue| (queue.name.as_str(), queue)).collect(),
            members,
            leaving,
        }
    }

    /// The replicas of a role that hold a place already.
    pub(super) fn running(&self, gang: &Gang, role: &Role) -> &[&'a Running] {
        let roles = self.members.get(gang.name.as_str());
        roles.and_then(|roles| roles.get(role.name.as_str())).map_or(&[], Vec::as_slice)
    }

    /// How many replicas of a role must still start.
    pub(super) fn missing(&self, gang: &Gang, role: &Role) -> usize {
        let leaving = self.leaving.get(gang.name.as_str()).and_then(|roles| roles.get(role.name.as_str()));
        let gone = self.running(gang, role).len() + leaving.copied().unwrap_or(0);
        usize::try_from(role.replicas).unwrap_or(usize::MAX).saturating_sub(gone)
    }

    pub(super) fn waits(&self, gang: &Gang) -> bool {
        gang.roles.iter().any(|role| self.missing(gang, role) > 0)
    }

    /// All placed replicas with known names.
    pub(super) fn placed(&self, plan: &Plan) -> Vec<Placed<'a>> {
        let mut all = Vec::new();
        for (gang, roles) in &plan.placements {
            let Some(gang) = self.gangs.get(gang.as_str()) else { continue };
            for (role, nodes) in roles {
                let Some(role) = gang.roles.iter().find(|known| known.name == *role) else { continue };
                for (index, node) in nodes.iter().enumerate() {
                    if let Some(node) = self.nodes.get(node.as_str()) {
                        all.push(Placed { gang, role, node, index });
                    }
                }
            }
        }
        all
    }

    /// The queue with this name and all above it.
    pub(super) fn queues_up(&self, name: Option<&str>) -> Vec<&'a Queue> {
        let mut path = Vec::new();
        let mut next = name;
        while let Some(queue) = next.and_then(|name| self.queues.get(name)) {
            path.push(*queue);
            next = queue.parent.as_deref();
        }
        path
    }
}

/// The groups that a role is in, and all above them.
pub(super) fn groups_of<'g>(gang: &'g Gang, role: &Role) -> Vec<&'g Group> {
    let mut found: Vec<&Group> = Vec::new();
    let mut wanted: Vec<&str> = gang
        .groups
        .iter()
        .filter(|group| group.roles.contains(&role.name))
        .map(|group| group.name.as_str())
        .collect();
    while let Some(name) = wanted.pop() {
        if let Some(group) = gang.groups.iter().find(|group| group.name == name)
            && !found.iter().any(|known| known.name == name)
        {
            found.push(group);
            wanted.extend(group.parent.as_deref());
        }
    }
    found
}
