//! Queue: a node of the tree in which gangs wait and share capacity.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{one, yes};

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
    /// Its part of what is left when all have what they deserve, relative to the other queues that want more.
    #[serde(default = "one")]
    pub weight: i64,
    /// What it gets before others get more than they deserve, by resource name; none: nothing is said. A resource
    /// that a given map does not list is not accounted.
    #[serde(default)]
    pub deserved: Option<BTreeMap<String, String>>,
    /// What is kept free for it, by resource name.
    #[serde(default)]
    pub guarantee: BTreeMap<String, String>,
    /// When it was made, in seconds since 1970; among equals older comes first.
    #[serde(default)]
    pub created: i64,
}

impl Default for Queue {
    /// An open queue without limits, to be filled in.
    fn default() -> Self {
        Self {
            name: String::new(),
            parent: None,
            priority: 0,
            limit: BTreeMap::new(),
            open: yes(),
            weight: one(),
            deserved: None,
            guarantee: BTreeMap::new(),
            created: 0,
        }
    }
}
