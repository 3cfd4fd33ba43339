//! Group: roles of a gang that belong together, with a minimum and a closeness of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Closeness;

/// Some roles of a gang, and those of the groups below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Unique among the groups of the gang.
    pub name: String,
    /// Its own roles. The order decides nothing.
    #[serde(default)]
    pub roles: Vec<String>,
    /// The group above; none for an outermost one. What is said of a group holds for those below it together.
    #[serde(default)]
    pub parent: Option<String>,
    /// How near to each other its replicas lie; none: nothing asked.
    #[serde(default)]
    pub topology: Option<Closeness>,
    /// With any replica it has at least so many; none: 0.
    #[serde(default)]
    pub min: Option<i64>,
    /// The set that it is counted in by the gang's `min_groups`.
    #[serde(default)]
    pub set: Option<String>,
}
