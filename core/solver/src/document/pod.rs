//! Pod: the containers of a replica, where a plain map of requests does not say it all.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One container of a replica's pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Container {
    /// Requested amounts, by resource name.
    #[serde(default)]
    pub requests: BTreeMap<String, String>,
    /// Limits; a resource with a limit and no request requests its limit.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
    /// Of an init container: it keeps running beside the others.
    #[serde(default)]
    pub sidecar: bool,
}

/// The containers of a replica.
///
/// It counts, for each resource, the larger of (a) all containers and sidecars together and (b) each init
/// container together with the sidecars before it; then the overhead is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// Containers that run together.
    pub containers: Vec<Container>,
    /// Containers that run first, in this order.
    #[serde(default)]
    pub init_containers: Vec<Container>,
    /// What the runtime class adds to each replica.
    #[serde(default)]
    pub overhead: BTreeMap<String, String>,
}
