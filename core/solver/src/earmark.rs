//! Earmark: room kept for a gang that came first and cannot start yet, where it can start soonest.
//!
//! What is known to end gives its room back in its time. Of gangs whose end is not known, those that may be evicted are
//! taken to end before the others, older ones first: every job ends some day, so the room that is kept is had some day.
//! The first moment at which the gang fits says when and where. What it will need there, less what will have ended, is
//! kept from all that would still be there then: this is conservative backfilling (Mu'alem and Feitelson 2001), for one
//! gang.

use std::collections::BTreeMap;

use crate::constraint::{Demand, quota};
use crate::model::{GangId, Model, NodeId, PodFacts, QueueId, ResourceId, ResourceVec};
use crate::objective::locality::Spot;
use crate::search::{Answer, Budget, Seat, largest, place};
use crate::state::Ledger;

/// Room kept for one gang.
#[derive(Debug)]
pub(crate) struct Earmark {
    pub(crate) gang: GangId,
    /// When it can start, in seconds from now, if that is known.
    pub(crate) starts_in_s: Option<i64>,
    /// The nodes on which it will start.
    pub(crate) nodes: Vec<NodeId>,
    /// What is kept of each of them now.
    kept: Vec<(NodeId, ResourceVec)>,
    /// The limits under which others may start nothing that counts there, so that usage only falls.
    limits: Vec<(Limit, ResourceId)>,
}

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Queue(QueueId),
    /// A position in the model's `quotas`.
    Namespace(usize),
}

/// Room that is given back at one moment.
struct Moment {
    /// In so many seconds, if that is known.
    in_s: Option<i64>,
    frees: Vec<(NodeId, ResourceVec)>,
}

impl Earmark {
    /// The soonest start of a gang that does not fit now, once others have ended, of those that run and of those that
    /// were just placed; none if it does not fit even then. The Ledger is left as it was.
    pub(crate) fn find(
        ledger: &mut Ledger<'_>,
        demand: &Demand,
        placed: &BTreeMap<GangId, Vec<Spot>>,
        budget: &mut Budget<'_>,
    ) -> Option<Self> {
        let model = ledger.model();
        let moments = moments(model, demand.gang, placed);
        let mut seat_after = |count: usize| {
            let checkpoint = ledger.checkpoint();
            for (node, amounts) in moments[..count].iter().flat_map(|moment| &moment.frees) {
                ledger.keep(*node, amounts, -1);
            }
            budget.refill();
            let answer = place(ledger, demand, budget);
            ledger.rollback(&checkpoint);
            match answer {
                Answer::Placed(seat) => Some(seat),
                Answer::Refused { .. } | Answer::Stopped => None,
            }
        };
        let mut seat = (!moments.is_empty()).then(|| seat_after(moments.len())).flatten()?;
        // The more has ended, the more fits: halving finds the first moment at which it does.
        let whole = |count: i64| usize::try_from(count).expect("not negative");
        let most = i64::try_from(moments.len()).expect("moments fit in memory");
        let too_few = largest(0, most, |count| match seat_after(whole(count)) {
            Some(sooner) => {
                seat = sooner;
                false
            }
            None => true,
        });
        let ended = &moments[..=whole(too_few)];
        Some(Self::kept(model, demand.gang, &seat, ended))
    }

    /// For a gang that limits keep back: all that it would pass, if it stays below them when all that can end has ended.
    pub(crate) fn below_limits(ledger: &Ledger<'_>, demand: &Demand) -> Option<Self> {
        let model = ledger.model();
        let mut limits = Vec::new();
        for excess in quota::excesses(ledger, demand) {
            let stays = used_for_ever(model, excess.queue, excess.resource);
            if stays + excess.needs > excess.limit {
                return None;
            }
            limits.push((Limit::Queue(excess.queue), excess.resource));
        }
        if let Some(excess) = quota::namespace_excess(ledger, demand) {
            let others = i128::from(model.quotas[excess.quota].used.get(excess.resource));
            if others + excess.needs > i128::from(excess.limit) {
                return None;
            }
            limits.push((Limit::Namespace(excess.quota), excess.resource));
        }
        let (gang, nodes, kept) = (demand.gang, Vec::new(), Vec::new());
        (!limits.is_empty()).then_some(Self { gang, starts_in_s: None, nodes, kept, limits })
    }

    /// Whether a demand counts under a limit that is kept.
    pub(crate) fn limits(&self, model: &Model, demand: &Demand) -> bool {
        let gang = model.gang(demand.gang);
        self.limits.iter().any(|(limit, resource)| {
            let counts_there = match limit {
                Limit::Queue(queue) => model.path_up(gang.queue).any(|outer| outer == *queue),
                Limit::Namespace(quota) => gang.quota == Some(*quota),
            };
            counts_there && demand.needs(model, *resource) > 0
        })
    }

    fn kept(model: &Model, gang: GangId, seat: &Seat, ended: &[Moment]) -> Self {
        let nothing = || ResourceVec::zero(model.resources.len());
        let mut free: BTreeMap<NodeId, ResourceVec> = BTreeMap::new();
        for (node, amounts) in ended.iter().flat_map(|moment| &moment.frees) {
            free.entry(*node).or_insert_with(nothing).add(amounts, 1);
        }
        let mut needs: BTreeMap<NodeId, ResourceVec> = BTreeMap::new();
        for spot in &seat.spots {
            let request = &model.role(gang, spot.role).request;
            needs.entry(spot.node).or_insert_with(nothing).add(request, spot.count);
        }
        let nodes = needs.keys().copied().collect();
        let kept =
            needs.into_iter().map(|(node, needs)| (node, rest(model, &needs, free.get(&node)))).collect();
        Self {
            gang,
            starts_in_s: ended.last().and_then(|moment| moment.in_s),
            nodes,
            kept,
            limits: Vec::new(),
        }
    }

    /// Whether a gang may use the kept room: it can be evicted, or is known to end in time.
    pub(crate) fn is_open_to(&self, model: &Model, gang: GangId) -> bool {
        let facts = model.gang(gang);
        let ends_in_time = || Some(facts.runtime_s? <= self.starts_in_s?);
        facts.preemptible || ends_in_time() == Some(true)
    }

    /// Keeps the room, or gives it back.
    pub(crate) fn keep(&self, ledger: &mut Ledger<'_>, times: i64) {
        for (node, amounts) in &self.kept {
            ledger.keep(*node, amounts, times);
        }
    }
}

/// What pods of no gang use of a queue and all below it, and nobody knows that they end.
fn used_for_ever(model: &Model, queue: QueueId, resource: ResourceId) -> i128 {
    let counts =
        |pod: &&PodFacts| pod.ends_s.is_none() && model.path_up(pod.queue).any(|outer| outer == queue);
    model.pods.iter().filter(counts).map(|pod| i128::from(pod.request.get(resource))).sum()
}

/// When others than `head` give room back, in the order in which they do.
fn moments(model: &Model, head: GangId, placed: &BTreeMap<GangId, Vec<Spot>>) -> Vec<Moment> {
    let mut known: BTreeMap<i64, Vec<(NodeId, ResourceVec)>> = BTreeMap::new();
    for pod in model.pods.iter() {
        if let Some(in_s) = pod.ends_s {
            known.entry(in_s).or_default().push((pod.node, pod.request.clone()));
        }
    }
    let mut unknown = Vec::new();
    for gang in model.gang_ids().filter(|gang| *gang != head) {
        let facts = model.gang(gang);
        let mut open = Vec::new();
        for role in &facts.roles {
            for replica in &role.running {
                let frees = replica.ends_s.map_or(&mut open, |in_s| known.entry(in_s).or_default());
                frees.push((replica.node, role.request.clone()));
            }
        }
        for spot in placed.get(&gang).into_iter().flatten() {
            let mut amounts = ResourceVec::zero(model.resources.len());
            amounts.add(&model.role(gang, spot.role).request, spot.count);
            let frees = facts.runtime_s.map_or(&mut open, |in_s| known.entry(in_s).or_default());
            frees.push((spot.node, amounts));
        }
        if !open.is_empty() {
            unknown.push(((!facts.preemptible, facts.created, gang), open));
        }
    }
    unknown.sort_by_key(|(order, _)| *order);
    let known = known.into_iter().map(|(in_s, frees)| Moment { in_s: Some(in_s), frees });
    known.chain(unknown.into_iter().map(|(_, frees)| Moment { in_s: None, frees })).collect()
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
