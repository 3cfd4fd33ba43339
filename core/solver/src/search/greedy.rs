//! One fill of a domain: as much of a gang as goes in, one role after the other.

use std::cmp::Reverse;
use std::ops::Range;

use super::Field;
use crate::model::RoleId;
use crate::objective::locality::Spot;
use crate::state::Ledger;

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
}
