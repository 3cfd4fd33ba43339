//! Deltas in columns: what changed for many things at once, by their rows.

use super::columns::{GangColumns, PodColumns, RoleColumns, RunningColumns};

/// What changed since the last deltas, in columns. First is done what is gone or ended, then nodes, then what is new,
/// then who holds a place, so that new rows can be named.
#[derive(Debug, Clone, Default)]
pub struct DeltaColumns {
    /// Names of the resources of the amounts below; empty: those of the session.
    pub resources: Vec<String>,
    /// Rows of gangs that are gone, with all their replicas.
    pub gone_gangs: Vec<u32>,
    /// Rows of pods of no gang that are gone.
    pub gone_pods: Vec<u32>,
    /// Replicas that hold no place any more.
    pub ended: EndedColumns,
    /// Nodes that are other than before.
    pub nodes: NodeDeltas,
    /// New gangs; they get the next rows.
    pub gangs: GangColumns,
    /// Their roles, which get the next rows of roles; `gangs` are positions in the new gangs.
    pub roles: RoleColumns,
    /// New pods of no gang; they get the next rows.
    pub pods: PodColumns,
    /// Replicas that hold a place; each may have held another before.
    pub bound: RunningColumns,
}

/// Replicas, a row each.
#[derive(Debug, Clone, Default)]
pub struct EndedColumns {
    /// Its role.
    pub roles: Vec<u32>,
    /// Its index in the role.
    pub indexes: Vec<i64>,
}

/// Nodes that are other than before, a row each. Columns that are left empty change nothing.
#[derive(Debug, Clone, Default)]
pub struct NodeDeltas {
    /// Rows of the nodes, each once.
    pub rows: Vec<u32>,
    /// By resource, then node: what replicas may use.
    pub allocatable: Vec<Vec<i64>>,
    /// In place of `allocatable`, by resource, then node: what is free now, beside all that is known to hold a place.
    pub free: Vec<Vec<i64>>,
    /// Cordoned.
    pub unschedulable: Vec<bool>,
    /// Ready.
    pub ready: Vec<bool>,
}
