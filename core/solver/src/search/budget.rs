//! Budget: table cells for one gang, the deadline, the stop flag, and who stopped us.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::document::{Fill, SolveOptions};

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
        self.left >= 0 && self.poll().is_none()
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
