//! What a gang asks of the shape caches: its roles with replicas to place, the scarcest first.

use super::Budget;
use crate::constraint::Demand;
use crate::model::{Level, Model, NodeId, RoleId, ShapeId};
use crate::state::{Ledger, ShapeCache, most_countable};

/// More roles than this do not ask the caches, which hold a limited number of shapes.
const MOST_ROLES: usize = 64;

/// A role with replicas to place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    pub(super) role: RoleId,
    pub(super) count: u16,
    /// A node that takes the whole gang has room for so many of this role alone.
    pub(super) whole: u16,
    pub(super) shape: ShapeId,
}

/// The roles of a gang, the scarcest first: the one of which the cluster has room for the fewest gangs.
#[derive(Debug)]
pub(super) struct Asks<'d> {
    pub(super) demand: &'d Demand,
    pub(super) roles: Vec<Ask>,
    /// What all replicas to place take together, by resource.
    whole: Vec<i64>,
    /// A node where a replica of the gang runs.
    pub(super) anchor: Option<NodeId>,
}

impl<'d> Asks<'d> {
    /// Brings the counts up to date; none if a role has more replicas than are counted, or there are very
    /// many roles.
    pub(super) fn of(ledger: &mut Ledger<'_>, demand: &'d Demand, budget: &mut Budget<'_>) -> Option<Self> {
        let model = ledger.model();
        let most = most_countable(model.nodes.len());
        if demand.counts.len() > MOST_ROLES {
            return None;
        }
        let mut whole = vec![0_i64; model.resources.len()];
        let mut roles = Vec::with_capacity(demand.counts.len());
        for role in demand.roles() {
            let (facts, count) = (model.role(demand.gang, role), demand.count(role));
            for (sum, amount) in whole.iter_mut().zip(facts.request.as_slice()) {
                *sum = sum.saturating_add(amount.saturating_mul(count));
            }
            let count = u16::try_from(count).ok().filter(|count| *count <= most)?;
            let shape = facts.shape;
            budget.count_nodes(ledger.refresh(shape));
            roles.push(Ask { role, count, whole: count, shape });
        }
        for ask in &mut roles {
            let alone = model.shapes[ask.shape.index()].request.most_in(&whole).min(i64::from(most));
            ask.whole = ask.whole.max(u16::try_from(alone).unwrap_or(most));
        }
        let room = |ask: &Ask| u64::from(ledger.shape(ask.shape).sums(Level::CLUSTER)[0]);
        roles.sort_by(|a, b| {
            let (left, right) = (room(a) * u64::from(b.count), room(b) * u64::from(a.count));
            left.cmp(&right).then(a.role.cmp(&b.role))
        });
        let anchor = demand.running.iter().flatten().next().copied();
        Some(Self { demand, roles, whole, anchor })
    }

    /// Whether all pairs of replicas of the gang talk alike, so that it matters only how many lie together.
    pub(super) fn talk_alike(&self, model: &Model) -> bool {
        let facts = model.gang(self.demand.gang);
        let roles = facts.roles.len();
        facts.traffic.len() == roles * (roles + 1) / 2
            && facts.traffic.windows(2).all(|pair| pair[0].weight == pair[1].weight)
    }

    /// The counts of the scarcest role.
    pub(super) fn scarcest<'l>(&self, ledger: &'l Ledger<'_>) -> &'l ShapeCache {
        ledger.shape(self.roles[0].shape)
    }

    /// Necessary for a placement in a domain of a level, but not `node`: enough room for each role alone, and enough of
    /// each resource for all.
    pub(super) fn may_fit(&self, ledger: &Ledger<'_>, level: Level, domain: usize) -> bool {
        self.roles.iter().all(|ask| ledger.shape(ask.shape).sums(level)[domain] >= u32::from(ask.count))
            && self.may_hold(ledger, level, domain)
    }

    /// Enough of each resource for all, in sum; for one role alone its places say more.
    pub(super) fn may_hold(&self, ledger: &Ledger<'_>, level: Level, domain: usize) -> bool {
        self.roles.len() == 1 || ledger.may_hold(level, domain, &self.whole)
    }

    /// Whether a node takes all replicas together.
    pub(super) fn fits_whole(&self, ledger: &Ledger<'_>, node: NodeId) -> bool {
        self.roles.iter().all(|ask| ledger.shape(ask.shape).counts()[node.index()] >= ask.whole)
            && self.whole.iter().zip(ledger.free(node)).all(|(whole, free)| whole <= free)
    }
}
