//! Whose turn it is: queues by their shares, gangs by priority and age, one after the other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::entitlement::Entitlements;
use super::ratio::Ratio;
use crate::constraint::Demand;
use crate::document::SolveOptions;
use crate::model::{GangId, Model, NodeId, QueueId, RoleId};
use crate::objective::locality::Spot;
use crate::state::Ledger;

/// Where a gang stands in its queue: higher priority first; then, if wanted, those that run below their minimum; then
/// those with fewer replicas above their minimum; then the older.
type GangKey = (Reverse<i64>, bool, i64, i64, GangId);

/// Where a queue stands among its siblings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    priority: Reverse<i64>,
    above_guarantee: bool,
    /// With its next gang it would hold more than it deserves.
    exceeds: bool,
    share: Ratio,
    share_after: Ratio,
    created: i64,
    next: GangKey,
}

/// The waiting gangs of a queue, and the queues below that have any.
#[derive(Debug, Default)]
struct Line {
    gangs: BTreeSet<GangKey>,
    children: BTreeSet<(Standing, QueueId)>,
    /// As it stands in the line above.
    entered: Option<Standing>,
}

/// The waiting gangs in the order of their turns, which depends on what was placed before.
#[derive(Debug)]
pub(crate) struct Turns<'m> {
    model: &'m Model,
    entitlements: Entitlements,
    broken_first: bool,
    /// By queue; the last one is above all roots and holds the gangs of no queue.
    lines: Vec<Line>,
    /// What the elastic gangs that had a turn got, for the next; others have one turn only.
    seats: BTreeMap<GangId, Vec<Spot>>,
    /// Queues that must be entered anew, with all above them, before the next turn.
    moved: Vec<Option<QueueId>>,
    /// Roles that found no room to grow.
    stuck: BTreeSet<(GangId, RoleId)>,
}

/// A turn: what is to be placed now, all or nothing.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) demand: Demand,
}

impl<'m> Turns<'m> {
    pub(crate) fn new(ledger: &Ledger<'m>, options: &SolveOptions) -> Self {
        let model = ledger.model();
        let mut turns = Self {
            model,
            entitlements: Entitlements::of(model, options.fair_share),
            broken_first: options.finish_broken_first,
            lines: std::iter::repeat_with(Line::default).take(model.queues.len() + 1).collect(),
            seats: BTreeMap::new(),
            moved: Vec::new(),
            stuck: BTreeSet::new(),
        };
        // Sets are built from lists faster than key by key.
        let mut waiting: Vec<Vec<GangKey>> = vec![Vec::new(); turns.lines.len()];
        for gang in model.gang_ids().filter(|gang| model.gang(*gang).waits()) {
            if let Some(key) = turns.key(gang) {
                waiting[turns.line_of(gang)].push(key);
            }
        }
        for (line, gangs) in turns.lines.iter_mut().zip(waiting) {
            line.gangs = gangs.into_iter().collect();
        }
        // From the leaves up: a line is entered above once all below it is known.
        for queue in turns.leaves_first() {
            turns.enter(ledger, queue);
        }
        turns
    }

    /// Takes the next turn; none if nobody waits.
    pub(crate) fn next(&mut self, ledger: &Ledger<'m>) -> Option<Turn> {
        for queue in std::mem::take(&mut self.moved) {
            let path: Vec<QueueId> = self.model.path_up(queue).collect();
            for queue in path {
                self.enter(ledger, queue);
            }
        }
        let key = self.first_of(self.lines.len() - 1)?;
        let gang = key.4;
        let line = self.line_of(gang);
        self.lines[line].gangs.remove(&key);
        self.moved(gang);
        Some(Turn { demand: self.demand(gang)? })
    }

    /// Notes that a gang got what it asked for; it gets another turn if it may grow.
    pub(crate) fn placed(&mut self, turn: &Turn, spots: &[Spot]) {
        let gang = turn.demand.gang;
        if self.model.gang(gang).is_elastic() {
            self.seats.entry(gang).or_default().extend(spots);
            // What was in the way of a role may be mended now, such as a slice that was not whole.
            if self.model.gang(gang).is_structured {
                self.stuck.retain(|(of, _)| *of != gang);
            }
            if let Some(key) = self.key(gang) {
                let line = self.line_of(gang);
                self.lines[line].gangs.insert(key);
            }
        }
        self.moved(gang);
    }

    /// Roles that found no room to grow.
    pub(crate) fn stuck(&self) -> impl Iterator<Item = (GangId, RoleId)> + '_ {
        self.stuck.iter().copied()
    }

    /// Gives a gang another turn: what it waited for has come.
    pub(crate) fn again(&mut self, gang: GangId) {
        self.stuck.retain(|(of, _)| *of != gang);
        if let Some(key) = self.key(gang) {
            let line = self.line_of(gang);
            self.lines[line].gangs.insert(key);
            self.moved(gang);
        }
    }

    /// Whether nobody waits but the gang that has its turn.
    pub(crate) fn is_last(&self) -> bool {
        self.lines.iter().all(|line| line.gangs.is_empty())
    }

    pub(crate) fn entitlements(&self) -> &Entitlements {
        &self.entitlements
    }

    /// Takes the turns of all that wait in the same queue as a gang, and got nothing yet: of each what it waits for, in
    /// the order in which it would have been asked. Gangs of no queue stand as if in one.
    pub(crate) fn close_line(&mut self, gang: GangId) -> Vec<(GangId, Vec<Demand>)> {
        let line = self.line_of(gang);
        let gangs = std::mem::take(&mut self.lines[line].gangs);
        self.moved(gang);
        let empty = |key: &GangKey| self.seats(key.4).is_empty();
        gangs.into_iter().filter(empty).map(|key| (key.4, self.ways(key.4))).collect()
    }

    /// What a gang that got nothing yet waits for: its minimum, or any of the ways to grow.
    fn ways(&self, gang: GangId) -> Vec<Demand> {
        if let Some(minimum) = Demand::minimum(self.model, gang) {
            return vec![minimum];
        }
        let mut ways = Demand::growths(self.model, gang, &[]);
        ways.retain(|step| step.roles().all(|role| !self.stuck.contains(&(gang, role))));
        ways
    }

    /// Notes that a gang was refused; whether that needs no telling, because it holds its minimum and got something,
    /// or may still grow in another way.
    pub(crate) fn passes_over(&mut self, turn: &Turn) -> bool {
        let gang = turn.demand.gang;
        let grows = !self.seats(gang).is_empty() || Demand::minimum(self.model, gang).is_none();
        if !grows {
            return false;
        }
        self.stuck.extend(turn.demand.roles().map(|role| (gang, role)));
        let key = self.key(gang);
        if let Some(key) = key {
            let line = self.line_of(gang);
            self.lines[line].gangs.insert(key);
            self.moved(gang);
        }
        key.is_some() || !self.seats(gang).is_empty()
    }

    /// How many replicas above its minimum a gang holds with the next turn.
    fn optional(&self, gang: GangId) -> i64 {
        let placed: i64 = self.seats(gang).iter().map(|spot| spot.count).sum();
        let running: i64 = Demand::of(self.model, gang).have().iter().sum();
        // Who holds nothing has nothing beyond its minimum, even if that is nothing.
        if placed + running == 0 {
            return 0;
        }
        let least: i64 = Demand::afresh(self.model, gang).counts.iter().sum();
        let grows = placed > 0 || Demand::minimum(self.model, gang).is_none();
        (placed + running - least).max(0) + i64::from(grows)
    }

    /// What a gang got so far.
    fn seats(&self, gang: GangId) -> &[Spot] {
        self.seats.get(&gang).map_or(&[], Vec::as_slice)
    }

    fn line_of(&self, gang: GangId) -> usize {
        self.model.gang(gang).queue.map_or(self.model.queues.len(), QueueId::index)
    }

    fn demand(&self, gang: GangId) -> Option<Demand> {
        let seats = self.seats(gang);
        if !self.model.gang(gang).is_elastic() {
            return Demand::minimum(self.model, gang);
        }
        if seats.is_empty()
            && let Some(minimum) = Demand::minimum(self.model, gang)
        {
            return Some(minimum);
        }
        let held: Vec<(RoleId, NodeId)> =
            seats.iter().flat_map(|spot| (0..spot.count).map(|_| (spot.role, spot.node))).collect();
        let steps = Demand::growths(self.model, gang, &held);
        steps.into_iter().find(|step| step.roles().all(|role| !self.stuck.contains(&(gang, role))))
    }

    fn key(&self, gang: GangId) -> Option<GangKey> {
        let facts = self.model.gang(gang);
        if facts.is_elastic() {
            self.demand(gang)?;
        } else if !facts.waits() {
            return None;
        }
        let optional = if facts.is_elastic() { self.optional(gang) } else { 0 };
        let runs = facts.roles.iter().any(|role| !role.running.is_empty());
        let is_broken = self.broken_first
            && runs
            && self.seats(gang).is_empty()
            && Demand::minimum(self.model, gang).is_some();
        Some((Reverse(facts.priority), !is_broken, optional, facts.created, gang))
    }

    /// The first gang of a line. Its own gangs stand among the queues below as if they were in one of priority 0 to
    /// which nothing is counted.
    fn first_of(&self, line: usize) -> Option<GangKey> {
        let line = &self.lines[line];
        let own = line.gangs.first().map(|next| Standing {
            priority: Reverse(0),
            above_guarantee: true,
            exceeds: false,
            share: Ratio::ZERO,
            share_after: Ratio::ZERO,
            created: 0,
            next: *next,
        });
        let below = line.children.first().map(|(standing, _)| standing.clone());
        own.into_iter().chain(below).min().map(|first| first.next)
    }

    /// Notes that the line of a gang, or what its queue uses, is another than when it was entered above.
    fn moved(&mut self, gang: GangId) {
        let queue = self.model.gang(gang).queue;
        if self.moved.last() != Some(&queue) {
            self.moved.push(queue);
        }
    }

    /// Puts a queue where it now belongs in the line above.
    fn enter(&mut self, ledger: &Ledger<'m>, queue: QueueId) {
        let above = self.model.queues[queue.index()].parent.map_or(self.model.queues.len(), QueueId::index);
        if let Some(before) = self.lines[queue.index()].entered.take() {
            self.lines[above].children.remove(&(before, queue));
        }
        if let Some(next) = self.first_of(queue.index()) {
            let standing = self.standing(ledger, queue, next);
            self.lines[above].children.insert((standing.clone(), queue));
            self.lines[queue.index()].entered = Some(standing);
        }
    }

    fn standing(&self, ledger: &Ledger<'m>, queue: QueueId, next: GangKey) -> Standing {
        let (model, facts) = (self.model, &self.model.queues[queue.index()]);
        let demand = self.demand(next.4);
        let needs = |resource| demand.as_ref().map_or(0, |demand| demand.needs(model, resource));
        let now = |resource| ledger.usage(queue, resource);
        let after = |resource| ledger.usage(queue, resource) + needs(resource);
        Standing {
            priority: Reverse(facts.priority),
            above_guarantee: model
                .resource_ids()
                .all(|resource| now(resource) >= i128::from(facts.guarantee.get(resource))),
            exceeds: !self.entitlements.covers(model, queue, after),
            share: self.entitlements.share(model, queue, now),
            share_after: self.entitlements.share(model, queue, after),
            created: facts.created,
            next,
        }
    }

    fn leaves_first(&self) -> Vec<QueueId> {
        let mut queues: Vec<(Reverse<usize>, QueueId)> = self
            .model
            .queue_ids()
            .map(|queue| (Reverse(self.model.path_up(Some(queue)).count()), queue))
            .collect();
        queues.sort_unstable();
        queues.into_iter().map(|(_, queue)| queue).collect()
    }
}
