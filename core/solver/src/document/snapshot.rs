//! Snapshot: the cluster at one moment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Gang, NamespaceQuota, Node, Queue, Running, Version};

/// All that a decision rests on. A gang with a replica that does not run yet is waiting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Version of the document format.
    #[serde(default)]
    pub version: Version,
    /// The moment, in seconds since 1970; 0: not known, then no gang has an age.
    #[serde(default)]
    pub now: i64,
    /// Node label keys from coarse to fine. A domain is the tuple of values down to a level.
    #[serde(default)]
    pub topology: Vec<String>,
    /// The machines.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// The queues.
    #[serde(default)]
    pub queues: Vec<Queue>,
    /// The gangs, running and waiting.
    #[serde(default)]
    pub gangs: Vec<Gang>,
    /// What holds a place on a node, whoever owns it.
    #[serde(default)]
    pub running: Vec<Running>,
    /// Limits on namespaces.
    #[serde(default)]
    pub quotas: Vec<NamespaceQuota>,
}
