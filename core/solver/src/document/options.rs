//! `SolveOptions`: what a caller may ask of one solve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Version, yes};

/// Which of the nodes that serve a gang equally well is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// The one with the least left.
    #[default]
    Pack,
    /// The one with the most left.
    Spread,
}

/// What the deserved share of a queue is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum FairShare {
    /// As `deserved` says.
    #[default]
    Quota,
    /// The cluster shared out by weight, each resource by itself.
    Weight,
    /// The cluster shared out by weight, by dominant resource.
    Drf,
    /// Nothing.
    None,
}

/// Whether others may start behind a gang that cannot be placed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Bypass {
    /// It blocks nobody.
    #[default]
    Free,
    /// Nothing of the same queue starts behind it.
    None,
    /// The first such gang keeps the room in which it can start soonest.
    Earmark,
}

/// Limits of one solve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SolveOptions {
    /// Version of the document format.
    #[serde(default)]
    pub version: Version,
    /// Work that the exact search may spend on one gang, or on each part of one that is placed part by part, in cells of
    /// its tables. Of plain gangs and of large tables a second fills 10⁸ to 10⁹, of gangs with rules of their own and
    /// small tables only some 5 · 10⁶.
    #[serde(default = "default_budget")]
    pub budget: i64,
    /// Wall time after which the solve stops searching, in whole seconds; none: no limit.
    #[serde(default)]
    pub deadline_s: Option<i64>,
    /// Whether refusals come with changes that were tried and would admit the gang.
    #[serde(default = "yes")]
    pub changes: bool,
    /// Which of the nodes that serve a gang equally well is taken.
    #[serde(default)]
    pub placement: Fill,
    /// What the deserved share of a queue is.
    #[serde(default)]
    pub fair_share: FairShare,
    /// Whether others may start behind a gang that cannot be placed.
    #[serde(default)]
    pub bypass: Bypass,
    /// With `earmark`: a gang that waits for so many seconds gets one; none: its age gives it none.
    #[serde(default)]
    pub earmark_after_s: Option<i64>,
    /// With `earmark`: a gang that was bypassed so often gets one; none: that gives it none. With neither, the first
    /// refusal does.
    #[serde(default)]
    pub earmark_after_bypasses: Option<i64>,
    /// In a queue, at equal priority, a gang that runs with less than its minimum comes before those that hold
    /// nothing.
    #[serde(default)]
    pub finish_broken_first: bool,
    /// Gangs that may not be preempted stay within what their queue, and those above it, deserve.
    #[serde(default)]
    pub nonpreemptible_within_deserved: bool,
}

fn default_budget() -> i64 {
    200_000_000
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self {
            version: Version,
            budget: default_budget(),
            deadline_s: None,
            changes: true,
            placement: Fill::default(),
            fair_share: FairShare::default(),
            bypass: Bypass::default(),
            earmark_after_s: None,
            earmark_after_bypasses: None,
            finish_broken_first: false,
            nonpreemptible_within_deserved: false,
        }
    }
}
