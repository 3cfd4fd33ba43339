//! Node: a machine, its labels and taints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::yes;

/// What a taint does to a replica that does not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum TaintEffect {
    /// Keeps it away.
    NoSchedule,
    /// Decides nothing here.
    PreferNoSchedule,
    /// Keeps it away.
    NoExecute,
}

/// Keeps replicas away from a node unless they tolerate it, as a Kubernetes taint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    /// Name of the taint.
    pub key: String,
    /// Its value; empty if it has none.
    #[serde(default)]
    pub value: String,
    /// What it does.
    pub effect: TaintEffect,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Unique in the snapshot.
    pub name: String,
    /// What replicas may use, by resource name. A resource that is not listed is 0; `pods` is unlimited then.
    #[serde(default)]
    pub allocatable: BTreeMap<String, String>,
    /// Kubernetes labels; the values of the topology keys say where the node stands.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Taints of the node.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// Cordoned: nothing new is placed here.
    #[serde(default)]
    pub unschedulable: bool,
    /// A node that is not ready gets nothing new.
    #[serde(default = "yes")]
    pub ready: bool,
    /// What each NUMA zone offers, by resource name. A resource that no zone lists belongs to the node.
    #[serde(default)]
    pub zones: Vec<BTreeMap<String, String>>,
}

impl Default for Node {
    /// A ready node that offers nothing, to be filled in.
    fn default() -> Self {
        Self {
            name: String::new(),
            allocatable: BTreeMap::new(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            unschedulable: false,
            ready: yes(),
            zones: Vec::new(),
        }
    }
}
