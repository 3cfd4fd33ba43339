//! What a solve decided, in rows.

/// What a solve decided: a row for each replica that starts, ordered by gang, role and index, and the refusals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decisions {
    /// The epoch of the session that they were made in.
    pub epoch: u64,
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

impl Decisions {
    /// Makes room for the rows of so many more replicas.
    pub(super) fn reserve(&mut self, replicas: usize) {
        for column in [&mut self.gangs, &mut self.roles, &mut self.indexes, &mut self.nodes] {
            column.reserve_exact(replicas);
        }
    }
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
