//! Queue: a node of the tree in which gangs wait and share capacity.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::yes;

/// A node of the tree in which gangs wait and share capacity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Unique in the snapshot.
    pub name: String,
    /// The queue above; none for a root. A queue's usage includes that of all queues below it.
    #[serde(default)]
    pub parent: Option<String>,
    /// Gangs of a queue with a higher priority come first.
    #[serde(default)]
    pub priority: i64,
    /// Never passed by a new placement, by resource name. A resource that is not listed has no limit.
    #[serde(default)]
    pub limit: BTreeMap<String, String>,
    /// A closed queue admits nothing new.
    #[serde(default = "yes")]
    pub open: bool,
}
