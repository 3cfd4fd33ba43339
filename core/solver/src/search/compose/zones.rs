//! NUMA zones: replicas that must have what zones offer from a single one.

use std::collections::{BTreeMap, BTreeSet};

use super::counts::{Counts, Space};
use super::offers::Question;
use crate::constraint::Demand;
use crate::model::{GangId, Model, NodeId, ResourceVec, RoleId};
use crate::search::Budget;
use crate::state::Ledger;

/// Where zones bind the roles of a gang.
#[derive(Debug)]
pub(super) struct Zones {
    /// By node with zones: what is left in each zone, and what must still find a zone of its own there.
    rooms: BTreeMap<NodeId, Room>,
}

#[derive(Debug)]
struct Room {
    free: Vec<Vec<i64>>,
    homeless: Vec<Vec<i64>>,
}

/// More ways than this to settle what runs already are not looked at.
const MOST_WAYS: usize = 4096;

impl Zones {
    /// What holds places in zones; nothing if no role of the gang needs a single zone.
    pub(super) fn of(ledger: &Ledger<'_>, demand: &Demand, places: &[(GangId, RoleId, NodeId)]) -> Self {
        let model = ledger.model();
        let facts = model.gang(demand.gang);
        let mut rooms: BTreeMap<NodeId, Room> = BTreeMap::new();
        if !facts.roles.iter().any(|role| role.single_zone) {
            return Self { rooms };
        }
        for (index, node) in model.nodes.iter().enumerate().filter(|(_, node)| !node.zones.is_empty()) {
            let free = node
                .zones
                .iter()
                .map(|zone| node.zoned.iter().map(|resource| zone.get(*resource)).collect())
                .collect();
            rooms.insert(NodeId::new(index), Room { free, homeless: Vec::new() });
        }
        let mut settled: BTreeMap<(GangId, RoleId, NodeId), Vec<Option<usize>>> = BTreeMap::new();
        for gang in model.gang_ids() {
            for (role, facts) in model.gang(gang).roles() {
                for replica in &facts.running {
                    settled.entry((gang, role, replica.node)).or_default().push(replica.zone);
                }
            }
        }
        for pod in model.pods.iter().filter(|_| !ledger.is_vacant()) {
            if let Some(zone) = pod.zone {
                take(model, &mut rooms, pod.node, &pod.request, Some(zone));
            }
        }
        for place @ (gang, role, node) in places {
            let zone = settled.get_mut(place).and_then(Vec::pop).flatten();
            let facts = model.role(*gang, *role);
            if zone.is_some() || facts.single_zone {
                take(model, &mut rooms, *node, &facts.request, zone);
            }
        }
        Self { rooms }
    }

    pub(super) fn matter_on(&self, node: NodeId) -> bool {
        self.rooms.contains_key(&node)
    }

    /// The vectors, running replicas included, of which those that need a single zone find one on a node; none when
    /// the budget ends.
    pub(super) fn hostable(
        &self,
        question: &Question<'_, '_>,
        position: usize,
        budget: &mut Budget<'_>,
    ) -> Option<Counts> {
        let Question { ledger, demand, space, offers, .. } = *question;
        let (node, caps, running) =
            (offers.nodes[position], &offers.caps[position], &offers.running[position]);
        let (model, room) = (ledger.model(), &self.rooms[&node]);
        let zoned = &model.nodes[node.index()].zoned;
        let bound: Vec<Option<Vec<i64>>> = model
            .gang(demand.gang)
            .roles
            .iter()
            .map(|role| {
                role.single_zone.then(|| zoned.iter().map(|resource| role.request.get(*resource)).collect())
            })
            .collect();
        // Roles that may straddle zones take what is left: the node's own amounts bind them, whatever the zones hold.
        let mut straddling = space.none();
        free_roles(space, &bound, caps, 0, &mut vec![0; caps.len()], &mut straddling);
        let mut all = space.sum(&space.single(running), &straddling, &[], budget)?;
        for zones in settle(&room.free, &room.homeless)? {
            let mut sum = space.single(running);
            for zone in &zones {
                let mut set = space.none();
                let mut added = vec![0; caps.len()];
                list(space, &bound, caps, 0, &mut added, zone, &mut set);
                sum = space.sum(&sum, &set, &[], budget)?;
            }
            for number in space.sum(&sum, &straddling, &[], budget)?.numbers() {
                all.insert(number);
            }
        }
        Some(all)
    }
}

fn take(
    model: &Model,
    rooms: &mut BTreeMap<NodeId, Room>,
    node: NodeId,
    request: &ResourceVec,
    zone: Option<usize>,
) {
    let Some(room) = rooms.get_mut(&node) else { return };
    let amounts: Vec<i64> =
        model.nodes[node.index()].zoned.iter().map(|resource| request.get(*resource)).collect();
    match zone.and_then(|zone| room.free.get_mut(zone)) {
        Some(free) => free.iter_mut().zip(&amounts).for_each(|(free, amount)| *free -= amount),
        None => room.homeless.push(amounts),
    }
}

/// All ways to give what is homeless a zone each, by what is left; none if there are too many.
fn settle(free: &[Vec<i64>], homeless: &[Vec<i64>]) -> Option<BTreeSet<Vec<Vec<i64>>>> {
    let mut ways = BTreeSet::from([free.to_vec()]);
    for amounts in homeless {
        let mut next = BTreeSet::new();
        for way in &ways {
            for zone in 0..way.len() {
                if way[zone].iter().zip(amounts).all(|(free, amount)| amount <= free || *amount == 0) {
                    let mut taken = way.clone();
                    taken[zone].iter_mut().zip(amounts).for_each(|(free, amount)| *free -= amount);
                    // Which of two alike zones was taken makes no difference.
                    taken.sort();
                    next.insert(taken);
                }
            }
        }
        if next.len() > MOST_WAYS {
            return None;
        }
        ways = next;
    }
    Some(ways)
}

/// The vectors of bound roles that one zone can host.
fn list(
    space: &Space,
    bound: &[Option<Vec<i64>>],
    caps: &[usize],
    role: usize,
    added: &mut Vec<usize>,
    free: &[i64],
    set: &mut Counts,
) {
    if role == caps.len() {
        set.insert(space.number(added));
        return;
    }
    let most = if bound[role].is_some() { caps[role] } else { 0 };
    let mut left = free.to_vec();
    for count in 0..=most {
        added[role] = count;
        list(space, bound, caps, role + 1, added, &left, set);
        let Some(request) = &bound[role] else { break };
        if left.iter().zip(request).any(|(left, amount)| *amount > 0 && left < amount) {
            break;
        }
        left.iter_mut().zip(request).for_each(|(left, amount)| *left -= amount);
    }
    added[role] = 0;
}

/// The vectors of roles that are not bound to a zone, up to their caps.
fn free_roles(
    space: &Space,
    bound: &[Option<Vec<i64>>],
    caps: &[usize],
    role: usize,
    added: &mut Vec<usize>,
    set: &mut Counts,
) {
    if role == caps.len() {
        set.insert(space.number(added));
        return;
    }
    for count in 0..=if bound[role].is_none() { caps[role] } else { 0 } {
        added[role] = count;
        free_roles(space, bound, caps, role + 1, added, set);
    }
    added[role] = 0;
}
