//! Judges deltas before any of them is done.

use std::collections::BTreeSet;

use super::columns::{Columns, NONE};
use super::delta::{Delta, NewGang};
use super::sound::MOST_REPLICAS;
use crate::document::{self, Snapshot};
use crate::error::{Error, Problem, ProblemCode};

/// Everything that is wrong with the deltas.
pub(super) fn judge(columns: &Columns, deltas: &[Delta]) -> Result<(), Error> {
    let mut judge = Judge {
        columns,
        nodes: columns.nodes.names.len(),
        pods: columns.pods.nodes.len(),
        roles: Vec::new(),
        gangs: columns.gangs.names.len(),
        added: BTreeSet::new(),
        problems: Vec::new(),
    };
    for (index, delta) in deltas.iter().enumerate() {
        judge.delta(index, delta);
    }
    let problems = judge.problems;
    if problems.is_empty() { Ok(()) } else { Err(Error::Invalid { document: "deltas", problems }) }
}

struct Judge<'a> {
    columns: &'a Columns,
    nodes: usize,
    pods: usize,
    gangs: usize,
    /// Replicas of the roles that the deltas add.
    roles: Vec<i64>,
    /// Names of nodes and gangs that they add.
    added: BTreeSet<(bool, &'a str)>,
    problems: Vec<Problem>,
}

impl<'a> Judge<'a> {
    fn report(&mut self, index: usize, field: &str, code: ProblemCode, message: String) {
        self.problems.push(Problem { path: format!("$[{index}].{field}"), code, message });
    }

    fn delta(&mut self, index: usize, delta: &'a Delta) {
        match delta {
            Delta::ReplicaBound { role, index: replica, node, .. } => {
                self.replica(index, *role, *replica);
                self.position(index, "node", *node, self.nodes);
            }
            Delta::ReplicaGone { role, index: replica } => self.replica(index, *role, *replica),
            Delta::PodBound { requests, queue, node } => {
                self.amounts(index, "requests", requests);
                self.queue(index, *queue);
                self.position(index, "node", *node, self.nodes);
                self.pods += 1;
            }
            Delta::PodGone { pod } => self.position(index, "pod", *pod, self.pods),
            Delta::NodeAdded { name, allocatable, .. } => {
                let known = self.columns.nodes.names.contains(name);
                self.name(index, false, name, known);
                self.amounts(index, "allocatable", allocatable);
                self.nodes += 1;
            }
            Delta::NodeResized { node, allocatable } => {
                self.position(index, "node", *node, self.nodes);
                self.amounts(index, "allocatable", allocatable);
            }
            Delta::NodeCordoned { node, .. }
            | Delta::NodeReady { node, .. }
            | Delta::NodeRemoved { node } => {
                self.position(index, "node", *node, self.nodes);
            }
            Delta::GangAdded(gang) => self.gang(index, gang),
            Delta::GangRemoved { gang } => self.position(index, "gang", *gang, self.gangs),
            Delta::QueueChanged(queue) => {
                let mut queues = self.columns.queues.clone();
                queues.retain(|known| known.name != queue.name);
                queues.push(queue.clone());
                let snapshot = Snapshot { queues, ..Snapshot::default() };
                if let Err(Error::Invalid { problems, .. }) = document::sound(&snapshot) {
                    for problem in problems {
                        self.report(index, "queue", problem.code, problem.message);
                    }
                }
            }
        }
    }

    fn replica(&mut self, index: usize, role: u32, replica: i64) {
        let columns = &self.columns.roles;
        let added = || self.roles.get((role as usize).checked_sub(columns.names.len())?);
        let Some(replicas) = columns.replicas.get(role as usize).or_else(added).copied() else {
            let end = columns.names.len() + self.roles.len();
            return self.report(
                index,
                "role",
                ProblemCode::OutOfRange,
                format!("must be below {end}, not {role}"),
            );
        };
        if !(0..replicas).contains(&replica) {
            let message = format!("must be from 0 to {}, not {replica}", replicas - 1);
            self.report(index, "index", ProblemCode::OutOfRange, message);
        }
    }

    fn position(&mut self, index: usize, field: &str, position: u32, end: usize) {
        if position as usize >= end {
            let message = format!("must be below {end}, not {position}");
            self.report(index, field, ProblemCode::OutOfRange, message);
        }
    }

    fn queue(&mut self, index: usize, queue: u32) {
        if queue != NONE {
            self.position(index, "queue", queue, self.columns.queues.len());
        }
    }

    fn amounts(&mut self, index: usize, field: &str, amounts: &[i64]) {
        let wanted = self.columns.resources.len();
        if amounts.len() != wanted {
            let message = format!("must have {wanted} amounts, one for each resource, not {}", amounts.len());
            self.report(index, field, ProblemCode::BadValue, message);
        }
        for (resource, amount) in amounts.iter().enumerate().filter(|(_, amount)| **amount < 0) {
            let message = format!("must not be negative: {amount}");
            self.report(index, &format!("{field}[{resource}]"), ProblemCode::OutOfRange, message);
        }
    }

    fn name(&mut self, index: usize, is_gang: bool, name: &'a str, known: bool) {
        let what = if is_gang { "gang" } else { "node" };
        if name.is_empty() {
            self.report(index, "name", ProblemCode::BadValue, "must not be empty".to_owned());
        } else if known || !self.added.insert((is_gang, name)) {
            let message = format!("there is another {what} '{name}'");
            self.report(index, "name", ProblemCode::DuplicateName, message);
        }
    }

    fn gang(&mut self, index: usize, gang: &'a NewGang) {
        let known = self
            .columns
            .gangs
            .names
            .iter()
            .zip(0_u32..)
            .any(|(name, row)| *name == gang.name && self.columns.roles.gangs.contains(&row));
        self.name(index, true, &gang.name, known);
        self.queue(index, gang.queue);
        for (field, level) in [("required", gang.required), ("preferred", gang.preferred)] {
            if level != NONE {
                self.position(index, field, level, self.columns.topology.len() + 1);
            }
        }
        if gang.bypassed < 0 {
            let message = format!("must not be negative: {}", gang.bypassed);
            self.report(index, "bypassed", ProblemCode::OutOfRange, message);
        }
        let all = gang.roles.iter().fold(0_i64, |sum, role| sum.saturating_add(role.replicas.max(0)));
        if gang.min_member != NONE && i64::from(gang.min_member) > all {
            let message =
                format!("must be from 0 to the {all} replicas of all roles, not {}", gang.min_member);
            self.report(index, "min_member", ProblemCode::OutOfRange, message);
        }
        if gang.roles.is_empty() {
            self.report(index, "roles", ProblemCode::BadValue, "must not be empty".to_owned());
        }
        let mut names = BTreeSet::new();
        for (at, role) in gang.roles.iter().enumerate() {
            if role.name.is_empty() || !names.insert(&role.name) {
                let message =
                    format!("must be a name that no other role of the gang has, not '{}'", role.name);
                self.report(index, &format!("roles[{at}].name"), ProblemCode::DuplicateName, message);
            }
            if !(1..=MOST_REPLICAS).contains(&role.replicas) {
                let message = format!("must be from 1 to {MOST_REPLICAS}, not {}", role.replicas);
                self.report(index, &format!("roles[{at}].replicas"), ProblemCode::OutOfRange, message);
            }
            self.amounts(index, &format!("roles[{at}].requests"), &role.requests);
            if role.min != NONE && i64::from(role.min) > role.replicas {
                let message = format!("must be from 0 to the {} replicas, not {}", role.replicas, role.min);
                self.report(index, &format!("roles[{at}].min"), ProblemCode::OutOfRange, message);
            }
            if role.needs != NONE {
                self.position(index, &format!("roles[{at}].needs"), role.needs, self.columns.needs.len());
            }
            self.roles.push(role.replicas);
        }
        self.gangs += 1;
    }
}
