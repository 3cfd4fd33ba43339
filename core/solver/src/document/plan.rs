//! Plan: where each replica goes, and why the refused gangs must wait.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Version, yes};

/// What binds first, from cheap to dear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The queue.
    Quota,
    /// No node passes selectors, taints and readiness.
    Class,
    /// Not enough in sum.
    Capacity,
    /// No single domain of the required level.
    Topology,
    /// Enough in sum but not in pieces.
    Packing,
}

/// How much of a gang the best domain of a level can hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelFit {
    /// A topology key, `node`, or `cluster` for everything.
    pub level: String,
    /// The best domain, its values joined by `/`; empty for `cluster`.
    pub domain: String,
    /// Replicas of each role that fit there, the roles taken together.
    pub have: BTreeMap<String, i64>,
    /// Replicas of each role that must still start.
    pub need: BTreeMap<String, i64>,
    /// The resource that runs out first there; none if all fit.
    #[serde(default)]
    pub limited_by: Option<String>,
}

/// How many nodes a rule keeps a role away from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// The role.
    pub role: String,
    /// Code of the rule, the first that the node fails.
    pub rule: String,
    /// How many nodes.
    pub nodes: i64,
}

/// Who holds room that the gang lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// A gang, or the name of another pod.
    pub name: String,
    /// The resource that the gang lacks.
    pub resource: String,
    /// How much of it is held in the domain in question.
    pub amount: String,
    /// Whether it is only reserved so far.
    #[serde(default)]
    pub reserved: bool,
}

/// Kinds of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Fewer replicas of a role.
    Replicas,
    /// Relax the required level.
    Level,
    /// Raise a queue's limit.
    Limit,
    /// Wait until a gang has ended.
    Wait,
}

/// A change that was tried and admits the gang; the next smaller one was tried and does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What is changed.
    pub kind: ChangeKind,
    /// With `replicas`: the role.
    #[serde(default)]
    pub role: Option<String>,
    /// With `replicas` the count, with `level` the level (`cluster`: none), with `limit` the limit.
    #[serde(default)]
    pub to: Option<String>,
    /// With `limit`: the queue.
    #[serde(default)]
    pub queue: Option<String>,
    /// With `limit`: the resource.
    #[serde(default)]
    pub resource: Option<String>,
    /// With `wait`: the gang.
    #[serde(default)]
    pub gang: Option<String>,
    /// The change as a short sentence without full stop.
    pub text: String,
}

/// Why a gang was not placed, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    /// What binds first.
    pub stage: Stage,
    /// Stable code of the rule that binds.
    pub rule: String,
    /// The reason as one sentence, with its numbers.
    pub message: String,
    /// Place among the refused gangs in queue order, from 1.
    pub position: i64,
    /// The resource that is short; none where no number applies.
    #[serde(default)]
    pub resource: Option<String>,
    /// How much of it all replicas that must still start need together.
    #[serde(default)]
    pub needs: Option<String>,
    /// How much of it there is, where `at` says.
    #[serde(default)]
    pub has: Option<String>,
    /// The domain, the queue or empty for the whole cluster.
    #[serde(default)]
    pub at: Option<String>,
    /// Whether it is proven that the gang cannot be placed.
    #[serde(default = "yes")]
    pub proven: bool,
    /// Whether the gang would not fit even if nothing ran.
    #[serde(default)]
    pub impossible: bool,
    /// The best domain of each level from fine to coarse, up to the whole cluster.
    #[serde(default)]
    pub levels: Vec<LevelFit>,
    /// Nodes that rules keep away from roles, by role, then rule.
    #[serde(default)]
    pub exclusions: Vec<Exclusion>,
    /// Who holds the room that is short, the largest first.
    #[serde(default)]
    pub holders: Vec<Holder>,
    /// Changes that were tried and admit the gang.
    #[serde(default)]
    pub changes: Vec<Change>,
}

/// Who cut a solve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum StoppedBy {
    /// The deadline of the options.
    Deadline,
}

/// What a solve did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stats {
    /// Nodes in the snapshot.
    #[serde(default)]
    pub nodes: i64,
    /// Waiting gangs that were considered.
    #[serde(default)]
    pub gangs: i64,
    /// Domains in which a placement was tried.
    #[serde(default)]
    pub trials: i64,
    /// Work of the exact search, in table cells.
    #[serde(default)]
    pub cells: i64,
    /// `deadline` if it cut the search.
    #[serde(default)]
    pub stopped_by: Option<StoppedBy>,
}

/// Gang → role → nodes: one node for each replica that must still start, by ascending index.
pub type Placements = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The answer to a snapshot: every waiting gang is either placed whole or refused with a reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the document format.
    #[serde(default)]
    pub version: Version,
    /// Where the replicas of each placed gang go.
    #[serde(default)]
    pub placements: Placements,
    /// Gang → why it was refused.
    #[serde(default)]
    pub rejections: BTreeMap<String, Rejection>,
    /// Placed gang → cost of its traffic, running replicas included.
    #[serde(default)]
    pub traffic: BTreeMap<String, i64>,
    /// What the solve did.
    #[serde(default)]
    pub stats: Stats,
}
