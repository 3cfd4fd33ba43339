//! Soft terms on nodes, and terms on the company of other replicas.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Expression, yes};

/// Nodes that a role would rather use, as a preferred scheduling term of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreferredTerm {
    /// From 1 to 100; the weights of all terms that hold for a node add up.
    pub weight: i64,
    /// All must hold. A term without expressions holds for no node.
    pub expressions: Vec<Expression>,
}

/// Draws a replica to others with certain labels, or keeps it apart from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplicaAffinity {
    /// What near means: nodes with the same value of this label, or `node` for the same node.
    pub level: String,
    /// Labels that the others have. Each replica also carries `gangplan.dev/gang` and `gangplan.dev/role`.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    /// Keeps apart instead of drawing near.
    #[serde(default)]
    pub anti: bool,
    /// Must hold; else it should.
    #[serde(default = "yes")]
    pub required: bool,
}
