//! Gang, Role, Traffic: replicas that start together or not at all.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NodeSelectorTerm, Pod, Toleration};

/// One kind of replica of a gang: same requests, same needs, a count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Unique in the gang.
    pub name: String,
    /// How many, running ones included; at least 1.
    pub replicas: i64,
    /// What one replica takes, by resource name. Each replica also takes one of `pods`.
    #[serde(default)]
    pub requests: BTreeMap<String, String>,
    /// The containers, in place of `requests`.
    #[serde(default)]
    pub pod: Option<Pod>,
    /// Labels that a node must have with these values.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// One of the terms must hold. No term means any node.
    #[serde(default)]
    pub node_affinity: Vec<NodeSelectorTerm>,
    /// Taints that these replicas tolerate.
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
}

/// How much the replicas of two roles talk to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// A role of the gang.
    pub a: String,
    /// A role of the gang; may equal `a`: each pair of its replicas talks.
    pub b: String,
    /// Cost for each pair of replicas and each topology level that parts them.
    #[serde(default = "one")]
    pub weight: i64,
}

fn one() -> i64 {
    1
}

/// Replicas that start together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gang {
    /// Unique in the snapshot.
    pub name: String,
    /// Its roles. The order decides nothing.
    pub roles: Vec<Role>,
    /// The queue that it waits in and is counted in; none: in no queue.
    #[serde(default)]
    pub queue: Option<String>,
    /// In a queue, higher comes first.
    #[serde(default)]
    pub priority: i64,
    /// When it was asked for, in seconds since 1970; among equals older comes first.
    #[serde(default)]
    pub created: i64,
    /// All replicas must lie in one domain of this level.
    #[serde(default)]
    pub required: Option<String>,
    /// They should lie in one domain of this level; where none fits, in one of the next level out.
    #[serde(default)]
    pub preferred: Option<String>,
    /// Which roles talk. Empty means that every pair of replicas does, with weight 1.
    #[serde(default)]
    pub traffic: Vec<Traffic>,
}
