//! Decisions into a session: whole gangs, if they still hold.

use super::decisions::Decisions;
use super::held::Session;
use crate::error::{Error, Problem, ProblemCode};
use crate::model::{GangId, NodeId, RoleId};

/// A gang whose placement does not hold any more; nothing of it was booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict {
    /// Row of the gang.
    pub gang: u32,
    /// What changed since it was decided.
    pub cause: Cause,
}

/// Why a placement does not hold any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Nodes, gangs or queues were added or removed.
    Structure,
    /// The gang changed.
    Gang,
    /// Its queue does not admit it any more.
    Queue,
    /// A node takes a replica no longer; its row.
    Node(u32),
    /// A rule of its own, or of others about it, would be broken.
    Rule,
}

/// Replicas of a gang in decisions: role, index, node.
type Replicas = Vec<((GangId, RoleId), i64, NodeId)>;

impl Session {
    /// Books the placed gangs, each whole or not at all, as reserved places; those that do not hold any more are
    /// returned. Decisions that are committed a second time are in conflict with themselves.
    ///
    /// # Errors
    /// [`Error::Invalid`] if rows of the decisions are not of this session.
    pub fn commit(&mut self, decisions: &Decisions) -> Result<Vec<Conflict>, Error> {
        self.judge_rows(decisions)?;
        self.epoch += 1;
        let mut conflicts = Vec::new();
        let mut booked = false;
        let mut start = 0;
        while start < decisions.gangs.len() {
            let gang = decisions.gangs[start];
            let length = decisions.gangs[start..].iter().take_while(|other| **other == gang).count();
            match self.holds(decisions, start..start + length) {
                Ok(replicas) => {
                    for (at, index, node) in replicas {
                        self.bind(at, index, Some((node, true)));
                    }
                    booked = true;
                }
                Err(cause) => conflicts.push(Conflict { gang, cause }),
            }
            start += length;
        }
        if !booked {
            self.epoch -= 1;
        }
        Ok(conflicts)
    }

    /// Whether the replicas of one gang can be booked now.
    fn holds(&mut self, decisions: &Decisions, of: std::ops::Range<usize>) -> Result<Replicas, Cause> {
        if self.structure_epoch > decisions.epoch {
            return Err(Cause::Structure);
        }
        let row = decisions.gangs[of.start];
        if self.gang_epochs[row as usize] > decisions.epoch {
            return Err(Cause::Gang);
        }
        let mut replicas = Replicas::new();
        for at in of {
            let role = self.role_at[decisions.roles[at] as usize].ok_or(Cause::Gang)?;
            replicas.push((role, i64::from(decisions.indexes[at]), self.node(decisions.nodes[at])));
        }
        let gang = replicas[0].0.0;
        let mut places: Vec<_> = replicas.iter().map(|(role, index, _)| (*role, *index)).collect();
        places.sort_unstable();
        let is_twice = places.windows(2).any(|pair| pair[0] == pair[1]);
        let runs = places.iter().any(|((gang, role), index)| {
            let running = &self.built.model.role(*gang, *role).running;
            running.binary_search_by_key(index, |replica| replica.index).is_ok()
        });
        if is_twice || runs || places.iter().any(|(role, _)| role.0 != gang) {
            return Err(Cause::Gang);
        }
        let places: Vec<(RoleId, NodeId)> =
            replicas.iter().map(|((_, role), _, node)| (*role, *node)).collect();
        match self.built.hindrance(&places, gang) {
            Some(cause) => Err(cause),
            None => Ok(replicas),
        }
    }

    fn judge_rows(&self, decisions: &Decisions) -> Result<(), Error> {
        let columns = &self.columns;
        rows_are_known(
            decisions,
            columns.gangs.names.len(),
            columns.nodes.names.len(),
            columns.roles.names.len(),
        )?;
        let mut problems = Vec::new();
        for (row, (role, index)) in decisions.roles.iter().zip(&decisions.indexes).enumerate() {
            let replicas = columns.roles.replicas[*role as usize];
            if i64::from(*index) >= replicas {
                let message = format!("must be below {replicas}, not {index}");
                let path = format!("$.indexes[{row}]");
                problems.push(Problem { path, code: ProblemCode::OutOfRange, message });
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::Invalid { document: "decisions", problems }) }
    }
}

/// Judges whether rows of decisions can be of a session that has so many.
pub(super) fn rows_are_known(
    decisions: &Decisions,
    gangs: usize,
    nodes: usize,
    roles: usize,
) -> Result<(), Error> {
    let count = decisions.gangs.len();
    let mut problems = Vec::new();
    let mut report = |path: String, message: String| {
        problems.push(Problem { path, code: ProblemCode::OutOfRange, message });
    };
    let columns = [
        ("gangs", &decisions.gangs, gangs),
        ("roles", &decisions.roles, roles),
        ("nodes", &decisions.nodes, nodes),
        ("indexes", &decisions.indexes, u32::MAX as usize),
    ];
    for (name, column, end) in columns {
        if column.len() != count {
            report(format!("$.{name}"), format!("must have {count} rows, not {}", column.len()));
        }
        for (row, position) in column.iter().enumerate().filter(|(_, position)| **position as usize >= end) {
            report(format!("$.{name}[{row}]"), format!("must be below {end}, not {position}"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Invalid { document: "decisions", problems }) }
}
