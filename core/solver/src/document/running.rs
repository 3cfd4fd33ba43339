//! Running: whoever holds a place on a node.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Pod;

/// A replica of a gang, or any other pod, that holds a place on a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Running {
    /// Unique in the snapshot; for people.
    pub name: String,
    /// Where it runs.
    pub node: String,
    /// The gang that it belongs to; none for any other pod.
    #[serde(default)]
    pub gang: Option<String>,
    /// Its role in the gang; given exactly when `gang` is.
    #[serde(default)]
    pub role: Option<String>,
    /// Its index in the role; given exactly when `gang` is.
    #[serde(default)]
    pub index: Option<i64>,
    /// What it takes; only without `gang`. One of `pods` is added.
    #[serde(default)]
    pub requests: BTreeMap<String, String>,
    /// The containers, in place of `requests`; only without `gang`.
    #[serde(default)]
    pub pod: Option<Pod>,
    /// The queue that it counts in; only without `gang`.
    #[serde(default)]
    pub queue: Option<String>,
    /// It does not run yet: the place is kept for it by a reservation.
    #[serde(default)]
    pub reserved: bool,
    /// Whether it may be evicted for others; none: as its gang says, and yes for any other pod.
    #[serde(default)]
    pub preemptible: Option<bool>,
    /// Its priority; none: that of its gang, and 0 for any other pod.
    #[serde(default)]
    pub priority: Option<i64>,
    /// It is leaving: it counts for nothing, and its room is free.
    #[serde(default)]
    pub terminating: bool,
    /// The zone of its node that it sits in, from 0; none: in no single one.
    #[serde(default)]
    pub zone: Option<i64>,
    /// It is known to end in so many seconds.
    #[serde(default)]
    pub ends_s: Option<i64>,
    /// Labels, for the affinity of others; only without `gang`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}
