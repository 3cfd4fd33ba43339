//! Judges deltas in columns before any of them is done.

use std::collections::BTreeSet;

use super::columns::Columns;
use super::row_deltas::DeltaColumns;
use super::sound::Findings;
use crate::error::{Error, ProblemCode};

/// What rows of deltas can name in a session.
pub(super) struct Extent<'a> {
    /// Resources, levels, queues and needs as the session has them; nothing else of it is looked at.
    pub(super) known: Columns,
    /// Whether amounts may be of resources that are not known.
    pub(super) takes_new_resources: bool,
    /// By row of a node, whether it is gone.
    pub(super) gone_nodes: Vec<bool>,
    pub(super) gangs: usize,
    pub(super) pods: usize,
    /// By row of a role, its replicas.
    pub(super) replicas: Vec<i64>,
    /// Whether there is a gang of a name.
    pub(super) has_gang: &'a dyn Fn(&str) -> bool,
    /// Whether there is a pod of a name, where names of pods are unique.
    pub(super) has_pod: &'a dyn Fn(&str) -> bool,
}

/// Room that is told as free is less than this, so that what is held can be added.
const MOST_FREE: i64 = 1 << 62;

/// Everything that is wrong with the deltas.
pub(super) fn judge(deltas: &DeltaColumns, extent: &Extent<'_>) -> Result<(), Error> {
    let mut judge = Judge { findings: Findings::default(), deltas, extent };
    judge.resources();
    judge.nodes();
    judge.gone();
    judge.gangs();
    judge.pods();
    judge.replicas();
    let problems = judge.findings.problems;
    if problems.is_empty() { Ok(()) } else { Err(Error::invalid("deltas", problems)) }
}

struct Judge<'a> {
    findings: Findings,
    deltas: &'a DeltaColumns,
    extent: &'a Extent<'a>,
}

impl Judge<'_> {
    /// The names that amounts are of.
    fn names(&self) -> &[String] {
        if self.deltas.resources.is_empty() { &self.extent.known.resources } else { &self.deltas.resources }
    }

    fn resources(&mut self) {
        self.findings.names(&self.deltas.resources, "$.resources", "resource", true);
        let known = &self.extent.known.resources;
        let unknown = |name: &&String| !self.extent.takes_new_resources && !known.contains(name);
        for (index, name) in self.deltas.resources.iter().enumerate().filter(|(_, name)| unknown(name)) {
            let message = format!("there is no resource '{name}' in the session");
            self.findings.report(format!("$.resources[{index}]"), ProblemCode::UnknownName, message);
        }
    }

    /// Positions below `end`, each once.
    fn once(&mut self, rows: &[u32], path: &str, end: usize) {
        self.findings.positions(rows, path, rows.len(), false, end, false);
        let mut seen = BTreeSet::new();
        for (index, row) in rows.iter().enumerate().filter(|(_, row)| !seen.insert(**row)) {
            self.findings.report(
                format!("{path}[{index}]"),
                ProblemCode::DuplicateName,
                format!("row {row} stands here before"),
            );
        }
    }

    /// Nodes that are not gone.
    fn there(&mut self, rows: &[u32], path: &str) {
        let is_gone = |row: &u32| self.extent.gone_nodes.get(*row as usize).copied().unwrap_or(false);
        for (index, row) in rows.iter().enumerate().filter(|(_, row)| is_gone(row)) {
            let message = format!("the node of row {row} is gone");
            self.findings.report(format!("{path}[{index}]"), ProblemCode::UnknownName, message);
        }
    }

    /// A table of amounts, which may be left out.
    fn amounts(&mut self, table: &[Vec<i64>], path: &str, rows: usize) {
        if table.iter().any(|column| !column.is_empty()) {
            let resources = self.names().len();
            self.findings.table(table, path, resources, rows);
        }
    }

    fn nodes(&mut self) {
        let nodes = &self.deltas.nodes;
        let count = nodes.rows.len();
        self.once(&nodes.rows, "$.nodes.rows", self.extent.gone_nodes.len());
        self.there(&nodes.rows, "$.nodes.rows");
        self.amounts(&nodes.allocatable, "$.nodes.allocatable", count);
        self.amounts(&nodes.free, "$.nodes.free", count);
        if !nodes.allocatable.is_empty() && !nodes.free.is_empty() {
            let message = "only one of 'allocatable' and 'free' may be given";
            self.findings.report("$.nodes.free".to_owned(), ProblemCode::Contradiction, message);
        }
        for (resource, column) in nodes.free.iter().enumerate() {
            for (row, free) in column.iter().enumerate().filter(|(_, free)| **free >= MOST_FREE) {
                let message = format!("must be below {MOST_FREE}, not {free}");
                self.findings.report(
                    format!("$.nodes.free[{resource}][{row}]"),
                    ProblemCode::OutOfRange,
                    message,
                );
            }
        }
        self.findings.length(nodes.unschedulable.len(), "$.nodes.unschedulable", count, true);
        self.findings.length(nodes.ready.len(), "$.nodes.ready", count, true);
    }

    fn gone(&mut self) {
        self.once(&self.deltas.gone_gangs, "$.gone_gangs", self.extent.gangs);
        self.once(&self.deltas.gone_pods, "$.gone_pods", self.extent.pods);
    }

    /// New gangs are judged as those of columns, with what the session knows.
    fn gangs(&mut self) {
        let (gangs, roles) = (&self.deltas.gangs, &self.deltas.roles);
        if gangs.names.is_empty() && roles.names.is_empty() && roles.gangs.is_empty() {
            return;
        }
        let mut columns = self.extent.known.clone();
        columns.resources = self.names().to_vec();
        columns.gangs = gangs.clone();
        columns.roles = roles.clone();
        if columns.roles.requests.is_empty() {
            columns.roles.requests = vec![vec![0; roles.names.len()]; columns.resources.len()];
        }
        self.findings.gangs(&columns);
        self.findings.roles(&columns);
        for (row, name) in gangs.names.iter().enumerate().filter(|(_, name)| (self.extent.has_gang)(name)) {
            let message = format!("there is another gang '{name}'");
            self.findings.report(format!("$.gangs.names[{row}]"), ProblemCode::DuplicateName, message);
        }
    }

    fn pods(&mut self) {
        let pods = &self.deltas.pods;
        let count = pods.nodes.len();
        self.findings.length(pods.names.len(), "$.pods.names", count, true);
        for (row, name) in pods.names.iter().enumerate().filter(|(_, name)| (self.extent.has_pod)(name)) {
            let message = format!("there is another pod '{name}'");
            self.findings.report(format!("$.pods.names[{row}]"), ProblemCode::DuplicateName, message);
        }
        let end = self.extent.gone_nodes.len();
        self.findings.positions(&pods.nodes, "$.pods.nodes", count, false, end, false);
        self.there(&pods.nodes, "$.pods.nodes");
        self.amounts(&pods.requests, "$.pods.requests", count);
        let queues = self.extent.known.queues.len();
        self.findings.positions(&pods.queues, "$.pods.queues", count, true, queues, true);
    }

    fn replicas(&mut self) {
        let (ended, bound) = (&self.deltas.ended, &self.deltas.bound);
        let mut replicas = self.extent.replicas.clone();
        self.each(&ended.roles, &ended.indexes, "$.ended", &replicas);
        replicas.extend(&self.deltas.roles.replicas);
        self.each(&bound.roles, &bound.indexes, "$.bound", &replicas);
        let (count, end) = (bound.roles.len(), self.extent.gone_nodes.len());
        self.findings.positions(&bound.nodes, "$.bound.nodes", count, false, end, false);
        self.there(&bound.nodes, "$.bound.nodes");
        self.findings.length(bound.reserved.len(), "$.bound.reserved", count, true);
    }

    /// Replicas that there are, each once.
    fn each(&mut self, roles: &[u32], indexes: &[i64], path: &str, replicas: &[i64]) {
        let count = roles.len();
        self.findings.positions(roles, &format!("{path}.roles"), count, false, replicas.len(), false);
        if !self.findings.length(indexes.len(), &format!("{path}.indexes"), count, false) {
            return;
        }
        let mut seen = BTreeSet::new();
        for (row, (role, index)) in roles.iter().zip(indexes).enumerate() {
            let Some(replicas) = replicas.get(*role as usize) else { continue };
            let at = format!("{path}.indexes[{row}]");
            if !(0..*replicas).contains(index) {
                let message = format!("must be from 0 to {}, not {index}", replicas - 1);
                self.findings.report(at, ProblemCode::OutOfRange, message);
            } else if !seen.insert((role, index)) {
                let message = format!("replica {index} of the role of row {role} stands here before");
                self.findings.report(at, ProblemCode::DuplicateName, message);
            }
        }
    }
}
