//! Closeness: how near to each other the replicas of a gang, a group or a role must or should lie.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number of replicas that belong together: every domain of a level holds a multiple of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// A topology key, or `node`.
    pub level: String,
    /// How many replicas a slice has; at least 1.
    pub size: i64,
}

/// Keeps replicas apart: no domain of a level holds more than so many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// A topology key, or `node`.
    pub level: String,
    /// The most replicas in one domain; at least 1.
    pub most: i64,
}

/// Where the replicas of a gang, a group or a role lie, relative to each other; running ones count.
///
/// An empty one asks for nothing but a place inside the topology: a node that lacks one of its labels is not for
/// replicas with a closeness, be it their own, their group's or their gang's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closeness {
    /// All replicas must lie in one domain of this level: a topology key, or `node`.
    #[serde(default)]
    pub required: Option<String>,
    /// They should lie in one domain of this level; where none fits, in one of the next level out; where none of
    /// those fits either, in as few of the outermost domains as possible. One that is no finer than the required
    /// level asks for nothing more.
    #[serde(default)]
    pub preferred: Option<String>,
    /// Up to three layers; the size of an outer one is a multiple of the size of an inner one.
    #[serde(default)]
    pub slices: Vec<Slice>,
    /// As even as possible over few domains: the smallest part as large as can be, then the largest as small. Domains
    /// of the outermost slices, else of the finest key of the topology, else, inside one of these, nodes.
    #[serde(default)]
    pub balanced: bool,
    /// Caps on the replicas in one domain.
    #[serde(default)]
    pub spread: Vec<Spread>,
}
