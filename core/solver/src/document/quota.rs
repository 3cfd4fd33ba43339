//! `NamespaceQuota`: what the replicas of a namespace may take together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A limit on a namespace, as a `ResourceQuota` of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceQuota {
    /// Unique among the quotas.
    pub namespace: String,
    /// Never passed by a new placement, by resource name. A resource that is not listed has no limit.
    #[serde(default)]
    pub hard: BTreeMap<String, String>,
    /// What others use; replicas of gangs in the namespace that run are counted besides.
    #[serde(default)]
    pub used: BTreeMap<String, String>,
}
