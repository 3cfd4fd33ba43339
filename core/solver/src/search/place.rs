//! Placing one gang: levels from fine to coarse, domains from tight to wide, in each a fast and an exact try.

use super::asks::Asks;
use super::exact::{self, Outcome};
use super::{Budget, Field, domains, greedy, pack};
use crate::constraint::{Demand, topology};
use crate::model::{Level, RoleId};
use crate::objective::locality::{Spot, tidy, traffic};
use crate::state::Ledger;

/// Where only some roles talk, so many domains are compared.
const MOST_COMPARED: usize = 16;
/// So many nodes are looked at for one that takes a whole gang which does not have to lie on one.
const MOST_WHOLE: usize = 512;

/// Where a gang was placed.
#[derive(Debug)]
pub(crate) struct Seat {
    /// Sorted by node, then role.
    pub(crate) spots: Vec<Spot>,
    pub(crate) level: Level,
}

/// Whether a refusal is proven; if not, what ended the search before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// No placement exists.
    Found,
    /// The budget ended.
    NoBudget,
    /// The tables would have been larger than the memory that they may take.
    NoMemory,
    /// The solve was stopped.
    NoTime,
}

impl Proof {
    /// What ended a search that came to no answer.
    pub(crate) fn cut(budget: &Budget<'_>) -> Self {
        if budget.is_spent() { Self::NoBudget } else { Self::NoMemory }
    }
}

/// The answer for one gang.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It fits, and is booked.
    Placed(Seat),
    /// It does not fit, or no placement was found.
    Refused(Proof),
    /// The search was stopped.
    Stopped,
}

/// Places a gang whole in the finest level where it fits, and there in the domain with the least left over; books
/// it in the Ledger. Queues are not asked here. A level finer than the one that decides may be missed when the
/// budget runs out.
pub(crate) fn place(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Answer {
    // An elastic gang may have its minimum with nobody.
    if demand.roles().next().is_none() {
        let level = ledger.model().topology.node_level();
        return Answer::Placed(Seat { spots: Vec::new(), level });
    }
    let answer = match Asks::of(ledger, demand, budget) {
        Some(asks) => by_counts(ledger, &asks, budget),
        None => wide(ledger, demand, budget),
    };
    if let Answer::Placed(seat) = &answer {
        for spot in &seat.spots {
            ledger.take(demand.gang, spot.role, spot.node, spot.count);
        }
    }
    answer
}

/// The search on the counts of the shape caches.
fn by_counts(ledger: &mut Ledger<'_>, asks: &Asks<'_>, budget: &mut Budget<'_>) -> Answer {
    // What has no room in the cluster has none anywhere.
    if !asks.may_fit(ledger, Level::CLUSTER, 0) {
        return Answer::Refused(Proof::Found);
    }
    let levels = &ledger.model().topology;
    let decisive = asks.demand.required.unwrap_or(Level::CLUSTER);
    let mut answer = Answer::Refused(Proof::Found);
    for level in levels.fine_to_coarse().take_while(|level| *level >= decisive) {
        if level == levels.node_level() {
            answer = on_one_node(ledger, asks, decisive, budget);
        } else {
            let reserved = if level == decisive { 0 } else { budget.reserve_half() };
            answer = place_at(ledger, asks, level, budget);
            budget.release(reserved);
        }
        if !matches!(answer, Answer::Refused(_)) {
            break;
        }
    }
    answer
}

/// A node that takes all replicas together: a matter of adding up, so that no table is asked.
fn on_one_node(ledger: &Ledger<'_>, asks: &Asks<'_>, decisive: Level, budget: &mut Budget<'_>) -> Answer {
    let level = ledger.model().topology.node_level();
    let most = if decisive == level { usize::MAX } else { MOST_WHOLE };
    budget.count_trial();
    let (node, looked) = domains::node(ledger, asks, most);
    budget.count_nodes(looked);
    match node {
        Some(node) => {
            let spot = |ask: &super::asks::Ask| Spot { node, role: ask.role, count: i64::from(ask.count) };
            let mut spots: Vec<Spot> = asks.roles.iter().map(spot).collect();
            spots.sort_unstable();
            Answer::Placed(Seat { spots, level })
        }
        None => Answer::Refused(Proof::Found),
    }
}

fn place_at(ledger: &mut Ledger<'_>, asks: &Asks<'_>, level: Level, budget: &mut Budget<'_>) -> Answer {
    let Some(first) = domains::first(ledger, asks, level) else { return Answer::Refused(Proof::Found) };
    if !asks.talk_alike(ledger.model())
        && let Some(spots) = least_traffic(ledger, asks, level, budget)
    {
        return Answer::Placed(Seat { spots, level });
    }
    budget.count_trial();
    if let Some(spots) = pack::pack(ledger, asks, level, first, budget) {
        return Answer::Placed(Seat { spots, level });
    }
    // Where the fast try fails in the tightest domain, it mostly fails in the next ones too; the exact table does not.
    let mut proven = true;
    for domain in domains::in_order(ledger, asks, level) {
        if budget.poll().is_some() {
            return Answer::Stopped;
        }
        let nodes = ledger.model().topology.domains(level)[domain].nodes.clone();
        budget.count_nodes(nodes.len());
        let field = Field::counted(ledger, asks, nodes);
        let slots = field.all();
        if !field.may_hold(ledger, slots.clone()) {
            continue;
        }
        budget.count_trial();
        match exact::solve(ledger, &field, &slots, budget) {
            Outcome::Placed(spots) => {
                let spots = pack::improved(ledger, asks, level, domain, &tidy(spots), budget);
                return Answer::Placed(Seat { spots, level });
            }
            Outcome::Impossible => {}
            Outcome::Spent => proven = false,
        }
    }
    refused(proven, budget)
}

/// The answer where nothing was found.
fn refused(proven: bool, budget: &mut Budget<'_>) -> Answer {
    if proven {
        Answer::Refused(Proof::Found)
    } else if budget.poll().is_some() {
        Answer::Stopped
    } else {
        Answer::Refused(Proof::cut(budget))
    }
}

/// Where only some roles talk, which of the domains is taken matters more than how full it is: the best of several.
fn least_traffic(
    ledger: &Ledger<'_>,
    asks: &Asks<'_>,
    level: Level,
    budget: &mut Budget<'_>,
) -> Option<Vec<Spot>> {
    let (model, demand) = (ledger.model(), asks.demand);
    let candidates = domains::in_order(ledger, asks, level);
    let found = candidates.into_iter().take(MOST_COMPARED).filter_map(|domain| {
        budget.count_trial();
        let spots = pack::pack(ledger, asks, level, domain, budget)?;
        let running = demand.running.iter().enumerate().flat_map(|(role, nodes)| {
            nodes.iter().map(move |node| Spot { node: *node, role: RoleId::new(role), count: 1 })
        });
        let cost = traffic(model, demand.gang, spots.iter().copied().chain(running));
        Some((cost, spots))
    });
    // The first of equals: candidates come the tightest first.
    found.min_by_key(|(cost, _)| *cost).map(|(_, spots)| spots)
}

/// The search for gangs with more replicas of a role than the caches count: one fill, then the exact table.
fn wide(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Answer {
    let model = ledger.model();
    let level = demand.required.unwrap_or(Level::CLUSTER);
    let field = Field::of(ledger, demand, 0..model.nodes.len());
    let mut proven = true;
    for domain in model.topology.domains(level) {
        let slots = field.slots(domain);
        if !topology::holds_running(demand, domain) || !field.may_hold(ledger, slots.clone()) {
            continue;
        }
        if budget.poll().is_some() {
            return Answer::Stopped;
        }
        budget.count_trial();
        budget.count_nodes(slots.len());
        let spots = greedy::as_many_as_fit(ledger, &field, &slots);
        if spots.iter().map(|spot| spot.count).sum::<i64>() == demand.counts.iter().sum::<i64>() {
            return Answer::Placed(Seat { spots: tidy(spots), level });
        }
        match exact::solve(ledger, &field, &slots, budget) {
            Outcome::Placed(spots) => return Answer::Placed(Seat { spots: tidy(spots), level }),
            Outcome::Impossible => {}
            Outcome::Spent => proven = false,
        }
    }
    refused(proven, budget)
}
