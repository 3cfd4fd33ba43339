//! Exchanges: one replica for one of another role on another node.

use super::Field;
use super::role_mix::{cost_of, tidy};
use crate::constraint::node_affinity;
use crate::objective::locality::Spot;
use crate::state::Ledger;

/// With more spots than this, exchanges are not tried: their number is the square of it.
const FEW_SPOTS: usize = 24;

/// The best exchange of one replica for one of another role on another node, booked, if it costs less. Roles block
/// each other on full nodes, where none of them can move alone.
pub(super) fn exchange(
    ledger: &mut Ledger<'_>,
    field: &Field<'_>,
    spots: &[Spot],
    cost: i64,
) -> Option<(Vec<Spot>, i64)> {
    if cost == 0 || spots.len() > FEW_SPOTS {
        return None;
    }
    let model = ledger.model();
    let (gang, admits) =
        (field.demand.gang, |role, node| node_affinity::admits(model, field.demand, role, node));
    let mut best: Option<(Vec<Spot>, i64)> = None;
    for (index, one) in spots.iter().enumerate() {
        for other in &spots[..index] {
            let apart = one.role != other.role && one.node != other.node;
            if !apart || !admits(one.role, other.node) || !admits(other.role, one.node) {
                continue;
            }
            let steps =
                [(one, one.node, -1), (other, other.node, -1), (one, other.node, 1), (other, one.node, 1)];
            let mut moved = spots.to_vec();
            moved.extend(steps.map(|(spot, node, count)| Spot { node, role: spot.role, count }));
            let moved_cost = cost_of(model, field, &moved);
            if moved_cost >= best.as_ref().map_or(cost, |(_, cost)| *cost) {
                continue;
            }
            let trial = ledger.checkpoint();
            let fits = steps.iter().all(|(spot, node, count)| {
                let fits = *count < 0 || ledger.most(gang, spot.role, *node) > 0;
                if fits {
                    ledger.take(gang, spot.role, *node, *count);
                }
                fits
            });
            ledger.rollback(&trial);
            if fits {
                best = Some((tidy(moved), moved_cost));
            }
        }
    }
    let (moved, moved_cost) = best?;
    for (spots, sign) in [(spots, -1), (moved.as_slice(), 1)] {
        for spot in spots {
            ledger.take(gang, spot.role, spot.node, sign * spot.count);
        }
    }
    Some((moved, moved_cost))
}
