//! Judges columns before anything is built from them: lengths, positions, ranges, names.

use rustc_hash::{FxBuildHasher, FxHashSet};

use super::columns::{Columns, NONE};
use crate::document::{self, Snapshot};
use crate::error::{Error, Problem, ProblemCode};

/// As in documents.
pub(super) const MOST_REPLICAS: i64 = 1_000_000;
/// A column can be wrong a million times over; so many problems say enough.
const MOST_PROBLEMS: usize = 1000;

/// Problems found so far.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) problems: Vec<Problem>,
}

/// Everything that is wrong with the columns.
pub(super) fn sound(columns: &Columns) -> Result<(), Error> {
    let mut findings = Findings::default();
    findings.nodes(columns);
    findings.gangs(columns);
    findings.roles(columns);
    if findings.problems.is_empty() {
        findings.running(columns);
    }
    findings.pods(columns);
    findings.queues(columns);
    let mut problems = findings.problems;
    if problems.is_empty() {
        return Ok(());
    }
    problems.sort_by(|a, b| crate::error::natural_order(&a.path, &b.path));
    Err(Error::Invalid { document: "columns", problems })
}

impl Findings {
    pub(super) fn report(&mut self, path: String, code: ProblemCode, message: impl Into<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem { path, code, message: message.into() });
        }
    }

    fn nodes(&mut self, columns: &Columns) {
        let (nodes, count) = (&columns.nodes, columns.nodes.names.len());
        self.names(&nodes.names, "$.nodes.names", "node", true);
        self.names(&columns.resources, "$.resources", "resource", true);
        self.names(&columns.topology, "$.topology", "level", true);
        self.table(&nodes.allocatable, "$.nodes.allocatable", columns.resources.len(), count);
        for (index, column) in nodes.labels.iter().enumerate() {
            let path = format!("$.nodes.labels[{index}].codes");
            self.positions(&column.codes, &path, count, false, column.values.len(), true);
            self.unique(&column.values, &format!("$.nodes.labels[{index}].values"), "value");
        }
        let keys: Vec<String> = nodes.labels.iter().map(|column| column.key.clone()).collect();
        self.names(&keys, "$.nodes.labels", "label column", true);
        for (index, key) in columns.topology.iter().enumerate() {
            if key == "node" || key == "cluster" {
                let message = format!("the level '{key}' is always there and cannot be a key");
                self.report(format!("$.topology[{index}]"), ProblemCode::Contradiction, message);
            } else if !keys.contains(key) {
                let message = format!("there is no label column '{key}'");
                self.report(format!("$.topology[{index}]"), ProblemCode::UnknownName, message);
            }
        }
        self.positions(&nodes.taints, "$.nodes.taints", count, true, nodes.taint_sets.len(), true);
        self.length(nodes.unschedulable.len(), "$.nodes.unschedulable", count, true);
        self.length(nodes.ready.len(), "$.nodes.ready", count, true);
    }

    pub(super) fn gangs(&mut self, columns: &Columns) {
        let (gangs, count) = (&columns.gangs, columns.gangs.names.len());
        self.names(&gangs.names, "$.gangs.names", "gang", true);
        self.positions(&gangs.queues, "$.gangs.queues", count, true, columns.queues.len(), true);
        self.length(gangs.priorities.len(), "$.gangs.priorities", count, true);
        self.length(gangs.created.len(), "$.gangs.created", count, true);
        let levels = columns.topology.len() + 1;
        self.positions(&gangs.required, "$.gangs.required", count, true, levels, true);
        self.positions(&gangs.preferred, "$.gangs.preferred", count, true, levels, true);
        self.length(gangs.preemptible.len(), "$.gangs.preemptible", count, true);
        self.length(gangs.runtimes_s.len(), "$.gangs.runtimes_s", count, true);
        self.length(gangs.bypassed.len(), "$.gangs.bypassed", count, true);
        for (row, bypassed) in gangs.bypassed.iter().enumerate().filter(|(_, bypassed)| **bypassed < 0) {
            let message = format!("must not be negative: {bypassed}");
            self.report(format!("$.gangs.bypassed[{row}]"), ProblemCode::OutOfRange, message);
        }
        self.length(gangs.min_members.len(), "$.gangs.min_members", count, true);
    }

    pub(super) fn roles(&mut self, columns: &Columns) {
        let (roles, count) = (&columns.roles, columns.roles.names.len());
        let gangs = columns.gangs.names.len();
        self.names(&roles.names, "$.roles.names", "role", false);
        self.length(roles.replicas.len(), "$.roles.replicas", count, false);
        for (index, replicas) in roles.replicas.iter().enumerate() {
            if !(1..=MOST_REPLICAS).contains(replicas) {
                let message = format!("must be from 1 to {MOST_REPLICAS}, not {replicas}");
                self.report(format!("$.roles.replicas[{index}]"), ProblemCode::OutOfRange, message);
            }
        }
        self.length(roles.mins.len(), "$.roles.mins", count, true);
        self.length(roles.priorities.len(), "$.roles.priorities", count, true);
        for (row, (min, replicas)) in roles.mins.iter().zip(&roles.replicas).enumerate() {
            if *min != NONE && i64::from(*min) > *replicas {
                let message = format!("must be from 0 to the {replicas} replicas, not {min}");
                self.report(format!("$.roles.mins[{row}]"), ProblemCode::OutOfRange, message);
            }
        }
        self.table(&roles.requests, "$.roles.requests", columns.resources.len(), count);
        self.positions(&roles.needs, "$.roles.needs", count, true, columns.needs.len(), true);
        if !self.positions(&roles.gangs, "$.roles.gangs", count, false, gangs, false) {
            return;
        }
        let mut has_role = vec![false; gangs];
        let mut seen = FxHashSet::with_capacity_and_hasher(count, FxBuildHasher);
        for (index, (gang, name)) in roles.gangs.iter().zip(&roles.names).enumerate() {
            // The role names of most gangs follow each other: only others can be the same twice.
            let first = !std::mem::replace(&mut has_role[*gang as usize], true);
            if !seen.insert((*gang, name.as_str())) && !first {
                let message = format!("its gang has another role '{name}'");
                self.report(format!("$.roles.names[{index}]"), ProblemCode::DuplicateName, message);
            }
        }
        for (index, _) in has_role.iter().enumerate().filter(|(_, has)| !**has) {
            self.report(format!("$.gangs.names[{index}]"), ProblemCode::BadValue, "has no role");
        }
        self.minimums(columns);
    }

    /// Called when roles name their gangs.
    fn minimums(&mut self, columns: &Columns) {
        let (mins, roles) = (&columns.gangs.min_members, &columns.roles);
        if mins.len() != columns.gangs.names.len() || roles.replicas.len() != roles.gangs.len() {
            return;
        }
        let mut all = vec![0_i64; mins.len()];
        for (gang, replicas) in roles.gangs.iter().zip(&roles.replicas) {
            let sum = &mut all[*gang as usize];
            *sum = sum.saturating_add((*replicas).max(0));
        }
        for (row, (min, all)) in mins.iter().zip(all).enumerate() {
            if *min != NONE && i64::from(*min) > all {
                let message = format!("must be from 0 to the {all} replicas of all roles, not {min}");
                self.report(format!("$.gangs.min_members[{row}]"), ProblemCode::OutOfRange, message);
            }
        }
    }

    /// Called when roles are sound.
    fn running(&mut self, columns: &Columns) {
        let (running, count) = (&columns.running, columns.running.roles.len());
        self.length(running.reserved.len(), "$.running.reserved", count, true);
        self.length(running.indexes.len(), "$.running.indexes", count, false);
        let nodes = columns.nodes.names.len();
        self.positions(&running.nodes, "$.running.nodes", count, false, nodes, false);
        let roles = columns.roles.names.len();
        if !self.positions(&running.roles, "$.running.roles", count, false, roles, false)
            || running.indexes.len() != count
        {
            return;
        }
        // One bit for every replica of every role.
        let mut first = Vec::with_capacity(roles + 1);
        let mut total = 0_usize;
        for replicas in &columns.roles.replicas {
            first.push(total);
            total += usize::try_from(*replicas).unwrap_or(0);
        }
        let mut seen = vec![0_u64; total / 64 + 1];
        for (row, (role, index)) in running.roles.iter().zip(&running.indexes).enumerate() {
            let replicas = columns.roles.replicas[*role as usize];
            if !(0..replicas).contains(index) {
                let message = format!("must be from 0 to {}, not {index}", replicas - 1);
                self.report(format!("$.running.indexes[{row}]"), ProblemCode::OutOfRange, message);
                continue;
            }
            let bit = first[*role as usize] + usize::try_from(*index).unwrap_or(0);
            if seen[bit / 64] >> (bit % 64) & 1 == 1 {
                let message = format!("replica {index} of this role holds another place");
                self.report(format!("$.running.indexes[{row}]"), ProblemCode::Contradiction, message);
            }
            seen[bit / 64] |= 1 << (bit % 64);
        }
    }

    fn pods(&mut self, columns: &Columns) {
        let (pods, count) = (&columns.pods, columns.pods.nodes.len());
        self.length(pods.names.len(), "$.pods.names", count, true);
        self.positions(&pods.nodes, "$.pods.nodes", count, false, columns.nodes.names.len(), false);
        self.table(&pods.requests, "$.pods.requests", columns.resources.len(), count);
        self.positions(&pods.queues, "$.pods.queues", count, true, columns.queues.len(), true);
    }

    /// Queues are documents: they are judged as such.
    fn queues(&mut self, columns: &Columns) {
        let snapshot = Snapshot { queues: columns.queues.clone(), ..Snapshot::default() };
        if let Err(Error::Invalid { problems, .. }) = document::sound(&snapshot) {
            self.problems.extend(problems);
        }
    }

    /// Names must not be empty and, if `unique`, not stand twice.
    pub(super) fn names(&mut self, names: &[String], path: &str, what: &str, unique: bool) {
        for (index, _) in names.iter().enumerate().filter(|(_, name)| name.is_empty()) {
            self.report(format!("{path}[{index}]"), ProblemCode::BadValue, "must not be empty");
        }
        if unique {
            self.unique(names, path, what);
        }
    }

    fn unique(&mut self, names: &[String], path: &str, what: &str) {
        // Names that rise are all different: most callers list them so, and it is much faster than to look.
        if names.windows(2).all(|pair| pair[0] < pair[1]) {
            return;
        }
        let mut seen = FxHashSet::with_capacity_and_hasher(names.len(), FxBuildHasher);
        for (index, name) in names.iter().enumerate() {
            if !seen.insert(name.as_str()) {
                let message = format!("there is another {what} '{name}'");
                self.report(format!("{path}[{index}]"), ProblemCode::DuplicateName, message);
            }
        }
    }

    /// A column has `count` rows, or none if it `may_be_empty`.
    pub(super) fn length(&mut self, length: usize, path: &str, count: usize, may_be_empty: bool) -> bool {
        let right = length == count || may_be_empty && length == 0;
        if !right {
            let message = format!("must have {count} rows, not {length}");
            self.report(path.to_owned(), ProblemCode::BadValue, message);
        }
        right
    }

    /// Positions are below `end`, or [`NONE`] where that is allowed.
    pub(super) fn positions(
        &mut self,
        column: &[u32],
        path: &str,
        count: usize,
        may_be_empty: bool,
        end: usize,
        none: bool,
    ) -> bool {
        let mut right = self.length(column.len(), path, count, may_be_empty);
        let wrong = |position: u32| (position as usize >= end) && !(none && position == NONE);
        if column.iter().any(|position| wrong(*position)) {
            right = false;
            for (row, position) in column.iter().enumerate().filter(|(_, position)| wrong(**position)) {
                let message = format!("must be below {end}, not {position}");
                self.report(format!("{path}[{row}]"), ProblemCode::OutOfRange, message);
            }
        }
        right
    }

    /// A column of `rows` amounts for each resource, none negative.
    pub(super) fn table(&mut self, table: &[Vec<i64>], path: &str, resources: usize, rows: usize) {
        if table.len() != resources {
            let message =
                format!("must have {resources} columns, one for each resource, not {}", table.len());
            self.report(path.to_owned(), ProblemCode::BadValue, message);
        }
        for (index, column) in table.iter().enumerate() {
            self.length(column.len(), &format!("{path}[{index}]"), rows, false);
            if column.iter().any(|amount| *amount < 0) {
                for (row, amount) in column.iter().enumerate().filter(|(_, amount)| **amount < 0) {
                    let message = format!("must not be negative: {amount}");
                    self.report(format!("{path}[{index}][{row}]"), ProblemCode::OutOfRange, message);
                }
            }
        }
    }
}
