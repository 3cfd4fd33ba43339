//! What a session asks its questions of: a model, its books, and the rows that answers name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::commit::Cause;
use super::decisions::{Decisions, KeptRoom, Refusal, Work};
use crate::constraint::{Demand, quota};
use crate::decide::{Because, Decision, Refused, decide};
use crate::document::{self, Plan, Rejection, SolveOptions};
use crate::error::Error;
use crate::explain::explain;
use crate::model::{GangId, Model, NodeId, RoleId, Rows, RunningReplica};
use crate::objective::locality::Spot;
use crate::objective::ranks::in_rank;
use crate::search::{Answer, Budget, Proof, Stop, place};
use crate::solve::plan;
use crate::state::{Books, Ledger};

/// A model, its books, and the rows of what is in it.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) model: Model,
    pub(super) rows: Rows,
    pub(super) books: Books,
    /// Indexes of replicas that are leaving, sorted: not for new ones.
    pub(super) leaving: BTreeMap<(GangId, RoleId), Vec<i64>>,
}

impl Built {
    pub(super) fn new(model: Model, rows: Rows) -> Self {
        let books = Ledger::new(&model).into_books();
        Self { model, rows, books, leaving: BTreeMap::new() }
    }

    /// Asks something of the ledger, and undoes what the question booked.
    fn ask<T>(
        &mut self,
        options: &SolveOptions,
        stop: &AtomicBool,
        question: impl FnOnce(&mut Ledger<'_>, &mut Budget<'_>) -> T,
    ) -> Result<(T, Counted), Error> {
        document::sound(options)?;
        let mut ledger = Ledger::over(&self.model, std::mem::take(&mut self.books));
        let mut budget = Budget::new(options, stop);
        let before = ledger.checkpoint();
        let answer = question(&mut ledger, &mut budget);
        ledger.rollback(&before);
        self.books = ledger.into_books();
        let work = Work { cells: budget.cells(), nodes: budget.nodes(), trials: budget.trials() };
        match budget.stopped() {
            None => Ok((answer, Counted { work, stopped: false })),
            Some(Stop::Deadline) => Ok((answer, Counted { work, stopped: true })),
            Some(Stop::Caller) => Err(Error::Interrupted),
        }
    }

    /// Which waiting gangs start now, and where, in rows.
    pub(super) fn solve(
        &mut self,
        epoch: u64,
        options: &SolveOptions,
        stop: &AtomicBool,
    ) -> Result<Decisions, Error> {
        let (decision, counted) =
            self.ask(options, stop, |ledger, budget| decide(ledger, options, budget))?;
        let mut decisions = Decisions {
            epoch,
            is_whole: true,
            stopped: counted.stopped,
            work: counted.work,
            ..Decisions::default()
        };
        self.write(&decision, &mut decisions);
        Ok(decisions)
    }

    /// The same as a document, with reasons.
    pub(super) fn plan(&mut self, options: &SolveOptions, stop: &AtomicBool) -> Result<Plan, Error> {
        self.ask(options, stop, |ledger, budget| plan(ledger, options, budget))?.0
    }

    /// Why the gang of a row does not start when all have their turn; none if it does, or does not wait, or is not there.
    pub(super) fn refusal(
        &mut self,
        gang: u32,
        options: &SolveOptions,
        stop: &AtomicBool,
    ) -> Result<Option<Rejection>, Error> {
        let Some(gang) = self.gang(gang) else { return document::sound(options).map(|()| None) };
        let found = self.ask(options, stop, |ledger, budget| {
            let refused = decide(ledger, options, budget).refused;
            let index = refused.iter().position(|refused| refused.demand.gang == gang)?;
            Some(explain(ledger, &refused[index], index, options, budget))
        })?;
        Ok(found.0)
    }

    /// Why the gang of a row cannot start as things stand, as if no other waited; none if it can, or does not wait, or is
    /// not there.
    pub(super) fn explain_alone(
        &mut self,
        gang: u32,
        options: &SolveOptions,
        stop: &AtomicBool,
    ) -> Result<Option<Rejection>, Error> {
        let Some(demand) = self.gang(gang).and_then(|gang| Demand::minimum(&self.model, gang)) else {
            return document::sound(options).map(|()| None);
        };
        let found = self.ask(options, stop, |ledger, budget| {
            let refused = |proof, because| Refused { demand: demand.clone(), proof, because };
            if !demand.reaches_minimum(ledger.model()) {
                return Some(explain(ledger, &refused(Proof::Found, Because::Leaving), 0, options, budget));
            }
            let before = ledger.checkpoint();
            let answer = if quota::admits(ledger, &demand) {
                place(ledger, &demand, budget)
            } else {
                Answer::Refused(Proof::Found)
            };
            ledger.rollback(&before);
            let refused = match answer {
                Answer::Placed(_) => return None,
                Answer::Refused(proof) => refused(proof, Because::Itself),
                Answer::Stopped => refused(Proof::NoTime, Because::Stopped),
            };
            Some(explain(ledger, &refused, 0, options, budget))
        })?;
        Ok(found.0)
    }

    /// The gang of a row.
    pub(super) fn gang(&self, row: u32) -> Option<GangId> {
        self.rows.gangs.iter().position(|known| *known == row).map(GangId::new)
    }

    /// Puts a replica on a node, kept or not, or nowhere: the nodes that it leaves and takes, if any; none if it was
    /// there.
    pub(super) fn bind(
        &mut self,
        at: (GangId, RoleId),
        index: i64,
        to: Option<(NodeId, bool)>,
    ) -> Option<[Option<NodeId>; 2]> {
        let (gang, role) = at;
        let facts = Arc::make_mut(&mut self.model.gangs[gang.index()]);
        let running = &mut facts.roles[role.index()].running;
        let place = running.binary_search_by_key(&index, |replica| replica.index);
        let before = place.ok().map(|place| (running[place].node, running[place].reserved));
        if before == to {
            return None;
        }
        match (place, to) {
            (Ok(place), None) => {
                running.remove(place);
            }
            (Ok(place), Some((node, reserved))) => {
                running[place] = RunningReplica { node, index, reserved, ends_s: None, zone: None }
            }
            (Err(place), Some((node, reserved))) => {
                running.insert(place, RunningReplica { node, index, reserved, ends_s: None, zone: None });
            }
            (Err(_), None) => {}
        }
        let (left, taken) = (before.map(|(node, _)| node), to.map(|(node, _)| node));
        for (node, count) in [(left, -1), (taken, 1)] {
            if let Some(node) = node {
                self.books.replicas(&self.model, gang, role, node, count);
            }
        }
        Some([left, taken])
    }

    /// What keeps a gang's replicas from their places as things stand: each must be open and have room, and the queue
    /// must admit them.
    pub(super) fn hindrance(&mut self, replicas: &[(RoleId, NodeId)], gang: GangId) -> Option<Cause> {
        let mut ledger = Ledger::over(&self.model, std::mem::take(&mut self.books));
        let before = ledger.checkpoint();
        let mut demand = Demand::of(&self.model, gang);
        demand.counts.fill(0);
        for (role, _) in replicas {
            demand.counts[role.index()] += 1;
        }
        let mut cause = (!quota::admits(&ledger, &demand)).then_some(Cause::Queue);
        for (role, node) in replicas {
            let shape = self.model.role(gang, *role);
            let open = self.model.exclusion(shape, *node).is_none();
            if cause.is_none() && (!open || ledger.most(gang, *role, *node) < 1) {
                cause = Some(Cause::Node(self.rows.nodes[node.index()]));
            }
            ledger.take(gang, *role, *node, 1);
        }
        ledger.rollback(&before);
        self.books = ledger.into_books();
        cause
    }

    fn write(&self, decision: &Decision, into: &mut Decisions) {
        let refusal = |refused: &Refused| Refusal {
            gang: self.row(refused.demand.gang),
            proven: refused.proof == Proof::Found,
        };
        into.refused = decision.refused.iter().map(refusal).collect();
        let kept = decision.earmarks.iter().map(|earmark| KeptRoom {
            gang: self.row(earmark.gang),
            nodes: earmark.nodes.iter().map(|node| self.rows.nodes[node.index()]).collect(),
            starts_in_s: earmark.starts_in_s,
        });
        into.kept = kept.collect();
        let replicas: i64 = decision.placed.values().flatten().map(|spot| spot.count).sum();
        into.reserve(usize::try_from(replicas).unwrap_or(0));
        for (gang, spots) in &decision.placed {
            self.enter(*gang, spots, into);
        }
    }

    fn row(&self, gang: GangId) -> u32 {
        self.rows.gangs[gang.index()]
    }

    /// Writes a placed gang into the arrays: role by role the lowest indexes that are free.
    fn enter(&self, gang: GangId, spots: &[Spot], into: &mut Decisions) {
        for (role, facts) in self.model.gang(gang).roles() {
            let leaving = self.leaving.get(&(gang, role));
            let is_free = |index: &i64| {
                facts.running.binary_search_by_key(index, |replica| replica.index).is_err()
                    && leaving.is_none_or(|leaving| leaving.binary_search(index).is_err())
            };
            let mut free = (0..facts.replicas).filter(is_free);
            let mut put = |node: NodeId| {
                let index = free.next().expect("no more are placed than are missing");
                into.gangs.push(self.row(gang));
                into.roles.push(self.rows.roles[gang.index()][role.index()]);
                into.indexes.push(u32::try_from(index).expect("indexes are small"));
                into.nodes.push(self.rows.nodes[node.index()]);
            };
            let own = spots.iter().filter(|spot| spot.role == role);
            let seats = own.clone().flat_map(|spot| (0..spot.count).map(|_| spot.node));
            if facts.ranks.is_none() && own.clone().is_sorted_by_key(|spot| spot.node) {
                seats.for_each(&mut put);
            } else {
                in_rank(&self.model, gang, role, seats.collect()).into_iter().for_each(&mut put);
            }
        }
    }
}

/// What a question took.
struct Counted {
    work: Work,
    /// The deadline cut it.
    stopped: bool,
}
