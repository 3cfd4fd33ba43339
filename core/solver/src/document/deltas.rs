//! Deltas: what changed in a cluster, by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Gang, NamespaceQuota, Node, Queue, Running, Version};

/// What a cluster has now, new or other than before, and what is gone. Said twice it changes nothing the second time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deltas {
    /// Version of the document format.
    #[serde(default)]
    pub version: Version,
    /// The moment, in seconds since 1970; none: as before.
    #[serde(default)]
    pub now: Option<i64>,
    /// Nodes that are new, or other than before.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// Queues; the same.
    #[serde(default)]
    pub queues: Vec<Queue>,
    /// Gangs; the same. What runs of a gang stays.
    #[serde(default)]
    pub gangs: Vec<Gang>,
    /// What holds a place: it takes the place of what has the same name, or is the same replica.
    #[serde(default)]
    pub running: Vec<Running>,
    /// Limits on namespaces.
    #[serde(default)]
    pub quotas: Vec<NamespaceQuota>,
    /// What is gone.
    #[serde(default)]
    pub gone: Gone,
}

/// Names of what is gone; names that are not known change nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gone {
    /// Nodes, with all that holds a place there.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// Queues.
    #[serde(default)]
    pub queues: Vec<String>,
    /// Gangs, with all their replicas.
    #[serde(default)]
    pub gangs: Vec<String>,
    /// Replicas and pods, by their names in the snapshot.
    #[serde(default)]
    pub running: Vec<String>,
    /// Namespaces whose limits are gone.
    #[serde(default)]
    pub quotas: Vec<String>,
}
