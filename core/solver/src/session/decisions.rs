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
    /// Room that is kept for refused gangs.
    pub kept: Vec<KeptRoom>,
    /// Whether the deadline cut the solve.
    pub stopped: bool,
    /// What it took.
    pub work: Work,
    /// All that a solve decided, and as it did.
    pub(super) is_whole: bool,
}

impl Decisions {
    /// Only what was decided of the gangs of some rows; none of a row that was not placed.
    #[must_use]
    pub fn of(&self, gangs: &std::collections::BTreeSet<u32>) -> Self {
        let mut some = Self { epoch: self.epoch, ..Self::default() };
        for row in (0..self.gangs.len()).filter(|row| gangs.contains(&self.gangs[*row])) {
            some.gangs.push(self.gangs[row]);
            some.roles.push(self.roles[row]);
            some.indexes.push(self.indexes[row]);
            some.nodes.push(self.nodes[row]);
        }
        some
    }

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

/// An Earmark: room that is kept for a gang that came first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRoom {
    /// Row of the gang.
    pub gang: u32,
    /// Rows of the nodes.
    pub nodes: Vec<u32>,
    /// When the gang can start there, in seconds from now; none: not known.
    pub starts_in_s: Option<i64>,
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
