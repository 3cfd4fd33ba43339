//! `SolveOptions`: what a caller may ask of one solve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Version, yes};

/// Limits of one solve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SolveOptions {
    /// Version of the document format.
    #[serde(default)]
    pub version: Version,
    /// Work that the exact search may spend on one gang, in table cells.
    #[serde(default = "default_budget")]
    pub budget: i64,
    /// Wall time after which the solve stops searching, in whole seconds; none: no limit.
    #[serde(default)]
    pub deadline_s: Option<i64>,
    /// Whether refusals come with changes that were tried and would admit the gang.
    #[serde(default = "yes")]
    pub changes: bool,
}

fn default_budget() -> i64 {
    200_000_000
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { version: Version, budget: default_budget(), deadline_s: None, changes: true }
    }
}
