//! Columns: a cluster as arrays, for callers that hold numbers already.
//!
//! Rows refer to each other by position; [`NONE`] stands for "none". Amounts are in base units: thousandths of a core
//! for `cpu`, one for everything else. A column that may be left empty says so.

use crate::document::{NodeSelectorTerm, Queue, Taint, Toleration};

/// "None" in a column of positions.
pub const NONE: u32 = u32::MAX;

/// All that a decision rests on, as a [`Snapshot`](crate::document::Snapshot), in columns.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// Names of the resources. `pods` counts replicas: each takes one, whatever its row says.
    pub resources: Vec<String>,
    /// Label keys from coarse to fine; each has a label column.
    pub topology: Vec<String>,
    /// The machines.
    pub nodes: NodeColumns,
    /// The queues, as in a snapshot.
    pub queues: Vec<Queue>,
    /// What roles ask of a node beside room; roles refer to them.
    pub needs: Vec<NodeNeeds>,
    /// The gangs, running and waiting.
    pub gangs: GangColumns,
    /// Their roles.
    pub roles: RoleColumns,
    /// Replicas of gangs that hold a place.
    pub running: RunningColumns,
    /// Pods of no gang that hold a place.
    pub pods: PodColumns,
    /// The moment, in seconds since 1970; 0: not known, then no gang has an age.
    pub now: i64,
}

/// Nodes, a row each.
#[derive(Debug, Clone, Default)]
pub struct NodeColumns {
    /// Unique.
    pub names: Vec<String>,
    /// By resource, then node: what replicas may use. Where `pods` is no resource it has no limit.
    pub allocatable: Vec<Vec<i64>>,
    /// Labels by key.
    pub labels: Vec<LabelColumn>,
    /// Position in `taint_sets`, or [`NONE`]; may be empty: no taints.
    pub taints: Vec<u32>,
    /// The distinct lists of taints.
    pub taint_sets: Vec<Vec<Taint>>,
    /// Cordoned; may be empty: none is.
    pub unschedulable: Vec<bool>,
    /// May be empty: all are.
    pub ready: Vec<bool>,
}

/// A label of all nodes.
#[derive(Debug, Clone, Default)]
pub struct LabelColumn {
    /// The label.
    pub key: String,
    /// Its distinct values.
    pub values: Vec<String>,
    /// By node: position in `values`, or [`NONE`].
    pub codes: Vec<u32>,
}

/// Selector, affinity and tolerations, as in a [`Role`](crate::document::Role).
#[derive(Debug, Clone, Default)]
pub struct NodeNeeds {
    /// Labels that a node must have with these values.
    pub node_selector: std::collections::BTreeMap<String, String>,
    /// One of the terms must hold. No term means any node.
    pub node_affinity: Vec<NodeSelectorTerm>,
    /// Taints that are tolerated.
    pub tolerations: Vec<Toleration>,
}

/// Gangs, a row each.
#[derive(Debug, Clone, Default)]
pub struct GangColumns {
    /// Unique.
    pub names: Vec<String>,
    /// Position in `queues`, or [`NONE`]; may be empty: no queues.
    pub queues: Vec<u32>,
    /// May be empty: all 0.
    pub priorities: Vec<i64>,
    /// Seconds since 1970; may be empty: all 0.
    pub created: Vec<i64>,
    /// The required level: position in `topology`, its length for `node`, or [`NONE`]; may be empty: none.
    pub required: Vec<u32>,
    /// The preferred level; the same.
    pub preferred: Vec<u32>,
    /// The gang has no replicas or at least so many; [`NONE`]: what its roles say; may be empty: all none.
    pub min_members: Vec<u32>,
    /// Whether it may be evicted for others; may be empty: all may.
    pub preemptible: Vec<bool>,
    /// How long it runs, in seconds, or [`NONE`]: not known; may be empty: all none.
    pub runtimes_s: Vec<u32>,
    /// How many gangs that came after it have started while it waited; may be empty: all 0.
    pub bypassed: Vec<i64>,
}

/// Roles, a row each, in any order.
#[derive(Debug, Clone, Default)]
pub struct RoleColumns {
    /// Its gang.
    pub gangs: Vec<u32>,
    /// Unique in its gang.
    pub names: Vec<String>,
    /// How many, running ones included.
    pub replicas: Vec<i64>,
    /// By resource, then role: what one replica takes.
    pub requests: Vec<Vec<i64>>,
    /// Position in `needs`, or [`NONE`]; may be empty: none.
    pub needs: Vec<u32>,
    /// The gang has no replicas or at least so many of the role; [`NONE`]: all, or 0 where the gang has a minimum of its
    /// own; may be empty: all none.
    pub mins: Vec<u32>,
    /// Inside the gang, higher grows first; may be empty: all 0.
    pub priorities: Vec<i64>,
}

/// Replicas that hold a place, a row each.
#[derive(Debug, Clone, Default)]
pub struct RunningColumns {
    /// Its role.
    pub roles: Vec<u32>,
    /// Its index in the role.
    pub indexes: Vec<i64>,
    /// Where it runs.
    pub nodes: Vec<u32>,
    /// Whether the place is only kept for it; may be empty: none is.
    pub reserved: Vec<bool>,
}

/// Pods of no gang, a row each.
#[derive(Debug, Clone, Default)]
pub struct PodColumns {
    /// For people; may be empty.
    pub names: Vec<String>,
    /// Where it runs.
    pub nodes: Vec<u32>,
    /// By resource, then pod: what it takes.
    pub requests: Vec<Vec<i64>>,
    /// The queue that it counts in, or [`NONE`]; may be empty: in none.
    pub queues: Vec<u32>,
}

/// Fills a column that was left empty.
pub(super) fn fill<T: Clone>(column: &mut Vec<T>, count: usize, value: T) {
    if column.len() < count {
        column.resize(count, value);
    }
}

/// A number of a row, or none; the column may be empty.
pub(crate) fn optional(column: &[u32], row: usize) -> Option<i64> {
    column.get(row).filter(|number| **number != NONE).map(|number| i64::from(*number))
}
