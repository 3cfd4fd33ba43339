//! Budget: table cells for one gang, the deadline, the stop flag, and who stopped us.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::document::{Fill, SolveOptions};

/// So many cells are worked through before the clock and the stop flag are looked at again: some milliseconds.
pub(crate) const STRIDE: i64 = 1 << 20;
/// So many items of a list that cost a few cells each are worked through before the same is done.
const PACE: usize = 1 << 12;

/// Why a search ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The deadline of the options has passed.
    Deadline,
    /// The caller set the stop flag.
    Caller,
}

/// What one solve may spend. Only cells decide in a repeatable way; the deadline is recorded in the plan.
#[derive(Debug)]
pub(crate) struct Budget<'a> {
    per_gang: i64,
    fill: Fill,
    left: i64,
    cells: i64,
    trials: i64,
    nodes: i64,
    deadline: Option<Instant>,
    flag: &'a AtomicBool,
    stopped: Option<Stop>,
    /// The most cells that were worked through without a look at the clock and the flag.
    #[cfg(test)]
    longest: i64,
}

impl<'a> Budget<'a> {
    pub(crate) fn new(options: &SolveOptions, flag: &'a AtomicBool) -> Self {
        let seconds = options.deadline_s.and_then(|seconds| u64::try_from(seconds).ok());
        Self {
            per_gang: options.budget,
            fill: options.placement,
            left: options.budget,
            cells: 0,
            trials: 0,
            nodes: 0,
            deadline: seconds.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds))),
            flag,
            stopped: None,
            #[cfg(test)]
            longest: 0,
        }
    }

    /// Grants a full budget of cells for the next gang.
    pub(crate) fn refill(&mut self) {
        self.left = self.per_gang;
    }

    /// Keeps half of what is left out of reach until it is given back with [`Self::release`].
    pub(crate) fn reserve_half(&mut self) -> i64 {
        let part = self.left / 2;
        self.left -= part;
        part
    }

    /// Gives back what was reserved.
    pub(crate) fn release(&mut self, part: i64) {
        self.left += part;
    }

    /// Spends cells; false if there are not that many left or the search was stopped.
    pub(crate) fn spend(&mut self, cells: i64) -> bool {
        self.left = self.left.saturating_sub(cells).max(-1);
        self.cells = self.cells.saturating_add(cells);
        #[cfg(test)]
        {
            self.longest = self.longest.max(cells);
        }
        self.left >= 0 && self.poll().is_none()
    }

    /// Whether there are so many cells left, before they are spent stride by stride; if not, the budget has ended.
    pub(crate) fn affords(&mut self, cells: i64) -> bool {
        if cells > self.left {
            self.left = -1;
        }
        self.left >= 0 && self.poll().is_none()
    }

    /// Whether the budget of this gang has ended.
    pub(crate) fn is_spent(&self) -> bool {
        self.left < 0
    }

    /// Whether to go on with the item at a position of a long list: looks at the clock and the flag now and then.
    pub(crate) fn goes_on(&mut self, position: usize) -> bool {
        !position.is_multiple_of(PACE) || self.poll().is_none()
    }

    /// Cells that may still be spent on this gang.
    pub(crate) fn left(&self) -> i64 {
        self.left.max(0)
    }

    /// Notes that a placement is tried in a domain.
    pub(crate) fn count_trial(&mut self) {
        self.trials += 1;
    }

    /// Notes that so many nodes were counted or looked at.
    pub(crate) fn count_nodes(&mut self, nodes: usize) {
        self.nodes += i64::try_from(nodes).unwrap_or(i64::MAX);
    }

    /// Who stopped the search, if anyone did.
    pub(crate) fn poll(&mut self) -> Option<Stop> {
        if self.stopped.is_none() {
            if self.flag.load(Ordering::Relaxed) {
                self.stopped = Some(Stop::Caller);
            } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.stopped = Some(Stop::Deadline);
            }
        }
        self.stopped
    }

    /// Who has stopped the search so far; unlike [`Self::poll`], time that passes now stops nothing.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    /// Which of the nodes that serve a gang equally well is taken.
    pub(crate) fn fill(&self) -> Fill {
        self.fill
    }

    pub(crate) fn cells(&self) -> i64 {
        self.cells
    }

    pub(crate) fn nodes(&self) -> i64 {
        self.nodes
    }

    pub(crate) fn trials(&self) -> i64 {
        self.trials
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::Demand;
    use crate::document::{Snapshot, decode};
    use crate::model::{GangId, Model};
    use crate::search::place;
    use crate::state::Ledger;

    /// Nodes in racks of 32 with GPUs, cores and memory, and a gang of roles: replicas, and what each takes of the three.
    fn snapshot(nodes: usize, offers: [usize; 3], roles: &[(i64, [i64; 3])], in_pairs: bool) -> Snapshot {
        let node = |index: usize| {
            let [gpus, cores, memory] = offers;
            let (cores, memory, rack) = (cores + index % 7, memory + index % 11, index / 32);
            format!(
                r#"{{"name": "n{index}", "labels": {{"rack": "r{rack}"}},
                    "allocatable": {{"gpu": "{gpus}", "cpu": "{cores}", "mem": "{memory}"}}}}"#
            )
        };
        let role = |(index, (replicas, [gpus, cores, memory])): (usize, &(i64, [i64; 3]))| {
            format!(
                r#"{{"name": "r{index}", "replicas": {replicas},
                    "requests": {{"gpu": "{gpus}", "cpu": "{cores}", "mem": "{memory}"}}}}"#
            )
        };
        let pairs = if in_pairs { r#", "topology": {"slices": [{"level": "rack", "size": 2}]}"# } else { "" };
        let nodes: Vec<String> = (0..nodes).map(node).collect();
        let roles: Vec<String> = roles.iter().enumerate().map(role).collect();
        let (nodes, roles) = (nodes.join(", "), roles.join(", "));
        let gang = format!(r#"{{"name": "g", "roles": [{roles}]{pairs}}}"#);
        let document = format!(r#"{{"topology": ["rack"], "nodes": [{nodes}], "gangs": [{gang}]}}"#);
        decode(document.as_bytes()).unwrap()
    }

    #[test]
    fn the_clock_and_the_flag_are_looked_at_every_few_million_cells() {
        let many: Vec<(i64, [i64; 3])> =
            (0..7).map(|role| (70 + role * 9, [2 + 2 * (role % 3), 1, 0])).collect();
        let instances = [
            (
                "tables",
                snapshot(
                    200,
                    [64, 100, 300],
                    &[(990, [3, 7, 11]), (800, [1, 11, 7]), (700, [2, 5, 13])],
                    false,
                ),
            ),
            ("options of a node", snapshot(4, [635, 900, 0], &many, false)),
            ("sums of sets", snapshot(256, [8, 1000, 1000], &[(600, [1, 0, 0]), (400, [3, 0, 0])], true)),
        ];
        for (what, snapshot) in instances {
            let model = Model::build(&snapshot);
            let mut ledger = Ledger::new(&model);
            let flag = AtomicBool::new(false);
            let options = SolveOptions { budget: 8 * STRIDE, ..SolveOptions::default() };
            let mut budget = Budget::new(&options, &flag);
            let _ = place(&mut ledger, &Demand::of(&model, GangId::new(0)), &mut budget);
            assert!(budget.cells >= STRIDE, "{what}: {} cells say little", budget.cells);
            assert!(budget.longest < 3 * STRIDE, "{what}: {} cells at once", budget.longest);
        }
    }
}
