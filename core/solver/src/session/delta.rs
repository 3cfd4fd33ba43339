//! Deltas: what changed in a cluster since a session took it in.

use super::columns::NONE;
use crate::document::{Queue, Taint};

/// A change. Things are named by their rows: those of the columns, then those that were added, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// A replica holds a place. It may have held another before.
    ReplicaBound {
        /// Row of its role.
        role: u32,
        /// Its index in the role.
        index: i64,
        /// Row of the node.
        node: u32,
        /// The place is only kept for it.
        reserved: bool,
    },
    /// A replica holds no place any more.
    ReplicaGone {
        /// Row of its role.
        role: u32,
        /// Its index in the role.
        index: i64,
    },
    /// A pod of no gang holds a place; it gets the next row of pods.
    PodBound {
        /// By resource.
        requests: Vec<i64>,
        /// Row of the queue that it counts in, or [`NONE`].
        queue: u32,
        /// Row of the node.
        node: u32,
    },
    /// A pod of no gang is gone.
    PodGone {
        /// Row of the pod.
        pod: u32,
    },
    /// There is a node more; it gets the next row.
    NodeAdded {
        /// Unique.
        name: String,
        /// By resource.
        allocatable: Vec<i64>,
        /// Key and value; those without a label column are left out, no rule asks for them.
        labels: Vec<(String, String)>,
        /// Its taints.
        taints: Vec<Taint>,
    },
    /// A node offers something else.
    NodeResized {
        /// Row of the node.
        node: u32,
        /// By resource.
        allocatable: Vec<i64>,
    },
    /// A node is cordoned, or no longer.
    NodeCordoned {
        /// Row of the node.
        node: u32,
        /// Nothing new is placed there.
        unschedulable: bool,
    },
    /// A node is ready, or not.
    NodeReady {
        /// Row of the node.
        node: u32,
        /// Something new may be placed there.
        ready: bool,
    },
    /// A node is gone, for good. What it held is gone when deltas say so.
    NodeRemoved {
        /// Row of the node.
        node: u32,
    },
    /// There is a gang more; it gets the next row, and its roles the next rows of roles.
    GangAdded(NewGang),
    /// A gang is gone, with all its replicas.
    GangRemoved {
        /// Row of the gang.
        gang: u32,
    },
    /// A queue, by name, is new or another.
    QueueChanged(Queue),
}

/// A gang that is added, as a row of [`GangColumns`](super::GangColumns).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGang {
    /// Unique among those that were not removed.
    pub name: String,
    /// Row of its queue, or [`NONE`].
    pub queue: u32,
    /// In a queue, higher comes first.
    pub priority: i64,
    /// Seconds since 1970.
    pub created: i64,
    /// As in [`GangColumns`](super::GangColumns).
    pub required: u32,
    /// The same.
    pub preferred: u32,
    /// The gang has no replicas or at least so many, or [`NONE`].
    pub min_member: u32,
    /// Whether it may be evicted for others.
    pub preemptible: bool,
    /// In seconds, or [`NONE`].
    pub runtime_s: u32,
    /// How many gangs that came after it have started while it waited.
    pub bypassed: i64,
    /// At least one.
    pub roles: Vec<NewRole>,
}

impl Default for NewGang {
    /// A gang of nothing, to be filled in.
    fn default() -> Self {
        Self {
            name: String::new(),
            queue: NONE,
            priority: 0,
            created: 0,
            required: NONE,
            preferred: NONE,
            min_member: NONE,
            preemptible: true,
            runtime_s: NONE,
            bypassed: 0,
            roles: Vec::new(),
        }
    }
}

/// A role of a gang that is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRole {
    /// Unique in the gang.
    pub name: String,
    /// How many.
    pub replicas: i64,
    /// By resource.
    pub requests: Vec<i64>,
    /// Row of the needs, or [`NONE`].
    pub needs: u32,
    /// The gang has no replicas or at least so many of it, or [`NONE`].
    pub min: u32,
    /// Inside the gang, higher grows first.
    pub priority: i64,
}

impl Default for NewRole {
    /// A role of nothing, to be filled in.
    fn default() -> Self {
        Self { name: String::new(), replicas: 0, requests: Vec::new(), needs: NONE, min: NONE, priority: 0 }
    }
}
