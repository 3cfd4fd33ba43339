//! A first feasible placement in one domain: several starts, each fast, the one with the least traffic kept.

use std::cmp::Reverse;
use std::ops::Range;

use super::Field;
use crate::model::{Level, RoleId};
use crate::objective::locality::Spot;
use crate::state::Ledger;

/// How many sub-domains a fill may start from.
const SEEDS: usize = 4;
/// In a larger domain one seed must do, for the time it takes.
const MANY_SLOTS: usize = 2048;
/// Above so many looks at a slot, the dear start of least loss is left to the exact table.
const MANY_LOOKS: i64 = 2_000_000;

/// Feasible placements in `slots`, one for each start that found one. The Ledger is left as it was.
pub(crate) fn placements(
    ledger: &mut Ledger<'_>,
    field: &Field<'_>,
    slots: &Range<usize>,
    level: Level,
) -> Vec<Vec<Spot>> {
    let mut found = Vec::new();
    let mut keep = |spots: Option<Vec<Spot>>| found.extend(spots);
    let rising = roles_by_count(field);
    let falling: Vec<RoleId> = rising.iter().rev().copied().collect();
    let orders = if rising.len() > 1 { vec![rising, falling] } else { vec![rising] };
    for seed in seeds(ledger, field, slots, level) {
        let near = nearest_first(ledger, field, slots, seed);
        for roles in &orders {
            keep(attempt(ledger, field, |fill| fill.node_by_node(&near, roles)));
        }
    }
    for roles in &orders {
        keep(attempt(ledger, field, |fill| fill.role_by_role(slots, roles)));
    }
    if found.is_empty() && orders.len() > 1 {
        found.extend(attempt(ledger, field, |fill| fill.with_least_loss(slots, &orders[0])));
    }
    found
}

/// As much of the demand as one fast fill places in `slots`, by role: the small roles first, so that the largest
/// takes what is left. The Ledger is left as it was.
pub(crate) fn as_many_as_fit(ledger: &mut Ledger<'_>, field: &Field<'_>, slots: &Range<usize>) -> Vec<Spot> {
    let checkpoint = ledger.checkpoint();
    let mut fill = Fill { left: field.demand.counts.clone(), spots: Vec::new(), ledger, field };
    fill.role_by_role(slots, &roles_by_count(field));
    let spots = fill.spots;
    ledger.rollback(&checkpoint);
    spots
}

/// Roles with the smallest count first.
pub(crate) fn roles_by_count(field: &Field<'_>) -> Vec<RoleId> {
    let mut roles: Vec<RoleId> = field.demand.roles().collect();
    roles.sort_by_key(|role| (field.demand.count(*role), *role));
    roles
}

/// The fullest slot of each of the sub-domains that hold most of the gang.
fn seeds(ledger: &Ledger<'_>, field: &Field<'_>, slots: &Range<usize>, level: Level) -> Vec<usize> {
    let topology = &ledger.model().topology;
    let finer = topology.parting().find(|finer| *finer > level).unwrap_or(topology.node_level());
    let mut groups: Vec<(i64, usize)> = Vec::new();
    for slot in slots.clone() {
        let hold = field.hold(slot);
        match groups.last_mut() {
            Some((sum, best)) if !topology.parts(finer, field.node(*best), field.node(slot)) => {
                *sum = sum.saturating_add(hold);
                if hold > field.hold(*best) {
                    *best = slot;
                }
            }
            _ => groups.push((hold, slot)),
        }
    }
    groups.sort_by_key(|(sum, slot)| (Reverse(*sum), *slot));
    let wanted = if slots.len() > MANY_SLOTS { 1 } else { SEEDS };
    groups.into_iter().take(wanted).map(|(_, slot)| slot).collect()
}

/// Slots by distance from a seed, those that hold most first.
fn nearest_first(ledger: &Ledger<'_>, field: &Field<'_>, slots: &Range<usize>, seed: usize) -> Vec<usize> {
    let topology = &ledger.model().topology;
    let mut order: Vec<usize> = slots.clone().collect();
    order.sort_by_cached_key(|slot| {
        let distance = topology.distance(field.node(seed), field.node(*slot));
        (distance, Reverse(field.hold(*slot)), *slot)
    });
    order
}

/// Runs one fill and takes it back; its spots if it placed everything.
fn attempt<'m>(
    ledger: &mut Ledger<'m>,
    field: &Field<'_>,
    run: impl FnOnce(&mut Fill<'_, '_, 'm>),
) -> Option<Vec<Spot>> {
    let checkpoint = ledger.checkpoint();
    let mut fill = Fill { left: field.demand.counts.clone(), spots: Vec::new(), ledger, field };
    run(&mut fill);
    let complete = fill.left.iter().all(|left| *left == 0);
    let spots = fill.spots;
    ledger.rollback(&checkpoint);
    complete.then_some(spots)
}

/// A fill under way.
struct Fill<'l, 'f, 'm> {
    ledger: &'l mut Ledger<'m>,
    field: &'f Field<'f>,
    /// Replicas still to place, by role.
    left: Vec<i64>,
    spots: Vec<Spot>,
}

impl Fill<'_, '_, '_> {
    /// How many replicas of a role a slot takes now.
    fn room(&self, slot: usize, role: RoleId) -> i64 {
        if self.field.cap(slot, role) == 0 {
            return 0;
        }
        self.ledger.most(self.field.demand.gang, role, self.field.node(slot))
    }

    fn put(&mut self, slot: usize, role: RoleId, count: i64) {
        if count > 0 {
            let node = self.field.node(slot);
            self.ledger.take(self.field.demand.gang, role, node, count);
            self.left[role.index()] -= count;
            self.spots.push(Spot { node, role, count });
        }
    }

    /// Fills one node after the other with all roles.
    fn node_by_node(&mut self, slots: &[usize], roles: &[RoleId]) {
        for &slot in slots {
            for &role in roles {
                let count = self.room(slot, role).min(self.left[role.index()]);
                self.put(slot, role, count);
            }
            if self.left.iter().all(|left| *left == 0) {
                return;
            }
        }
    }

    /// Places one role after the other, each on as few nodes as it can, the last of them the tightest.
    fn role_by_role(&mut self, slots: &Range<usize>, roles: &[RoleId]) {
        for &role in roles {
            let mut rooms: Vec<(i64, usize)> = slots
                .clone()
                .map(|slot| (self.room(slot, role), slot))
                .filter(|(room, _)| *room > 0)
                .collect();
            rooms.sort_by_key(|(room, slot)| (Reverse(*room), *slot));
            let mut next = 0;
            while self.left[role.index()] > 0 && next < rooms.len() {
                let left = self.left[role.index()];
                if rooms[next].0 >= left {
                    let enough = rooms[next..].partition_point(|(room, _)| *room >= left);
                    let tightest = rooms[next + enough - 1].0;
                    let first = next + rooms[next..].partition_point(|(room, _)| *room > tightest);
                    self.put(rooms[first].1, role, left);
                } else {
                    self.put(rooms[next].1, role, rooms[next].0);
                }
                next += 1;
            }
        }
    }

    /// Places each replica of the small roles where the largest role loses least, and that one at the end.
    fn with_least_loss(&mut self, slots: &Range<usize>, roles: &[RoleId]) {
        let Some((&largest, small)) = roles.split_last() else { return };
        let looks: i64 = small.iter().map(|role| self.left[role.index()]).sum();
        if looks.saturating_mul(i64::try_from(slots.len()).unwrap_or(i64::MAX)) > MANY_LOOKS {
            return;
        }
        for &role in small {
            while self.left[role.index()] > 0 {
                let mut best = None;
                for slot in slots.clone() {
                    let room = self.room(slot, role);
                    if room > 0 {
                        let key = (self.loss(slot, role, largest), room, slot);
                        best = Some(best.map_or(key, |best: (i64, i64, usize)| best.min(key)));
                    }
                }
                let Some((_, _, slot)) = best else { return };
                self.put(slot, role, 1);
            }
        }
        self.role_by_role(slots, &[largest]);
    }

    /// How many replicas of `largest` a slot loses to one of `role`.
    fn loss(&mut self, slot: usize, role: RoleId, largest: RoleId) -> i64 {
        let (gang, node) = (self.field.demand.gang, self.field.node(slot));
        let before = self.room(slot, largest);
        self.ledger.take(gang, role, node, 1);
        let after = self.room(slot, largest);
        self.ledger.take(gang, role, node, -1);
        before - after
    }
}
