//! From columns to decisions, in rows of the columns.

use std::sync::atomic::AtomicBool;

use super::columns::Columns;
use super::sound;
use crate::decide::decide;
use crate::document::{self, SolveOptions};
use crate::error::Error;
use crate::model::{GangId, Model, Rows};
use crate::objective::locality::Spot;
use crate::search::{Budget, Stop};
use crate::state::Ledger;

/// A cluster held in memory.
#[derive(Debug)]
pub struct Session {
    model: Model,
    rows: Rows,
}

/// What a solve decided: a row for each replica that starts, ordered by gang, role and index, and the refusals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Row of the gang.
    pub gangs: Vec<u32>,
    /// Row of the role.
    pub roles: Vec<u32>,
    /// Index of the replica in its role.
    pub indexes: Vec<u32>,
    /// Row of the node.
    pub nodes: Vec<u32>,
    /// Gangs that were not placed, in the order in which they were asked.
    pub refused: Vec<Refusal>,
    /// Whether the deadline cut the solve.
    pub stopped: bool,
    /// What it took.
    pub work: Work,
}

/// A gang that was not placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Row of the gang.
    pub gang: u32,
    /// Whether it is certain that no placement exists.
    pub proven: bool,
}

/// Work in units that are the same on every machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Table cells of the exact search.
    pub cells: i64,
    /// Nodes that were counted or looked at, each time.
    pub nodes: i64,
    /// Domains in which a placement was tried.
    pub trials: i64,
}

impl Session {
    /// Takes a cluster in.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem of the columns, each with its path.
    pub fn open(mut columns: Columns) -> Result<Self, Error> {
        sound::sound(&columns)?;
        let (model, rows) = Model::of_columns(&mut columns);
        Ok(Self { model, rows })
    }

    /// Decides which waiting gangs start now, and where; nothing is kept of it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for unsound options, [`Error::Interrupted`] once `stop` is set.
    pub fn solve(&self, options: &SolveOptions, stop: &AtomicBool) -> Result<Decisions, Error> {
        document::sound(options)?;
        let mut ledger = Ledger::new(&self.model);
        let mut budget = Budget::new(options, stop);
        let mut decisions = Decisions::default();
        let decision = decide(&mut ledger, options, &mut budget);
        decisions.refused = decision
            .refused
            .iter()
            .map(|refused| Refusal {
                gang: self.rows.gangs[refused.demand.gang.index()],
                proven: refused.proven,
            })
            .collect();
        match budget.stopped() {
            None => {}
            Some(Stop::Deadline) => decisions.stopped = true,
            Some(Stop::Caller) => return Err(Error::Interrupted),
        }
        for (gang, spots) in &decision.placed {
            self.enter(*gang, spots, &mut decisions);
        }
        decisions.work = Work { cells: budget.cells(), nodes: budget.nodes(), trials: budget.trials() };
        Ok(decisions)
    }

    /// Writes a placed gang into the arrays: role by role the lowest indexes that do not run.
    fn enter(&self, gang: GangId, spots: &[Spot], into: &mut Decisions) {
        for (role, facts) in self.model.gang(gang).roles() {
            let running: Vec<i64> = facts.running.iter().map(|replica| replica.index).collect();
            let mut free = (0..facts.replicas).filter(|index| running.binary_search(index).is_err());
            for spot in spots.iter().filter(|spot| spot.role == role) {
                for _ in 0..spot.count {
                    let index = free.next().expect("no more are placed than are missing");
                    into.gangs.push(self.rows.gangs[gang.index()]);
                    into.roles.push(self.rows.roles[gang.index()][role.index()]);
                    into.indexes.push(u32::try_from(index).expect("indexes are small"));
                    into.nodes.push(self.rows.nodes[spot.node.index()]);
                }
            }
        }
    }
}
