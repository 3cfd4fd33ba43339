//! Earmark: room kept for a gang that came first and cannot start yet, where it can start soonest.
//!
//! What is known to end gives its room back in its time; the first moment at which the gang fits says when and where.
//! What it will need there, less what will have ended, is kept from all that would still be there then: this is
//! conservative backfilling (Mu'alem and Feitelson 2001), for one gang.

use std::collections::BTreeMap;

use crate::constraint::Demand;
use crate::model::{Ending, GangId, Model, NodeId, ResourceVec};
use crate::search::{Answer, Budget, place};
use crate::state::Ledger;

/// Room kept for one gang.
#[derive(Debug)]
pub(crate) struct Earmark {
    pub(crate) gang: GangId,
    /// When it can start, in seconds from now.
    pub(crate) starts_in_s: i64,
    /// The nodes on which it will start.
    pub(crate) nodes: Vec<NodeId>,
    /// What is kept of each of them now.
    kept: Vec<(NodeId, ResourceVec)>,
}

impl Earmark {
    /// The soonest start of a gang that does not fit now, once what is known to end has ended, and what was placed
    /// with a known run time; none if it does not fit even then. The Ledger is left as it was.
    pub(crate) fn find(
        ledger: &mut Ledger<'_>,
        demand: &Demand,
        placed: &[Ending],
        budget: &mut Budget<'_>,
    ) -> Option<Self> {
        let model = ledger.model();
        let mut endings: Vec<&Ending> = model.endings.iter().chain(placed).collect();
        endings.sort_by_key(|ending| (ending.in_s, ending.node));
        let checkpoint = ledger.checkpoint();
        let mut free: BTreeMap<NodeId, ResourceVec> = BTreeMap::new();
        let mut found = None;
        for moment in endings.chunk_by(|a, b| a.in_s == b.in_s) {
            for ending in moment {
                ledger.keep(ending.node, &ending.amounts, -1);
                let nothing = || ResourceVec::zero(model.resources.len());
                free.entry(ending.node).or_insert_with(nothing).add(&ending.amounts, 1);
            }
            budget.refill();
            if let Answer::Placed(seat) = place(ledger, demand, budget) {
                found = Some((moment[0].in_s, seat));
                break;
            }
        }
        ledger.rollback(&checkpoint);
        let (starts_in_s, seat) = found?;
        let mut needs: BTreeMap<NodeId, ResourceVec> = BTreeMap::new();
        for spot in &seat.spots {
            let nothing = || ResourceVec::zero(model.resources.len());
            let request = &model.role(demand.gang, spot.role).request;
            needs.entry(spot.node).or_insert_with(nothing).add(request, spot.count);
        }
        let nodes = needs.keys().copied().collect();
        let kept =
            needs.into_iter().map(|(node, needs)| (node, rest(model, &needs, free.get(&node)))).collect();
        Some(Self { gang: demand.gang, starts_in_s, nodes, kept })
    }

    /// Whether a gang may use the kept room: it can be evicted, or ends in time.
    pub(crate) fn is_open_to(&self, model: &Model, gang: GangId) -> bool {
        let facts = model.gang(gang);
        facts.preemptible || facts.runtime_s.is_some_and(|runtime| runtime <= self.starts_in_s)
    }

    /// Keeps the room, or gives it back.
    pub(crate) fn keep(&self, ledger: &mut Ledger<'_>, times: i64) {
        for (node, amounts) in &self.kept {
            ledger.keep(*node, amounts, times);
        }
    }
}

/// What is needed beyond what will be free by then.
fn rest(model: &Model, needs: &ResourceVec, free: Option<&ResourceVec>) -> ResourceVec {
    let mut rest = ResourceVec::zero(model.resources.len());
    for resource in model.resource_ids() {
        let free = free.map_or(0, |free| free.get(resource));
        rest.set(resource, (needs.get(resource) - free).max(0));
    }
    rest
}
