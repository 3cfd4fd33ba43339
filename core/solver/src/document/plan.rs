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
    /// There is room, but it is not this gang's turn or right.
    Fairness,
    /// The room is kept for a gang that comes first.
    Earmark,
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
    /// Fewer replicas of a role; its minimum comes down to them, that of the gang by as many.
    Replicas,
    /// Relax the required level.
    Level,
    /// Raise a queue's limit.
    Limit,
    /// Wait until a gang has ended.
    Wait,
    /// Smaller requests of a role.
    Request,
    /// Free an amount of a resource.
    Free,
    /// Drop a rule that the gang sets itself.
    Constraint,
    /// Add nodes.
    Nodes,
}

/// A change that was tried and admits the gang.
///
/// It is the smallest of its kind, as far as the budget reached: with one replica more, one node less, the next finer
/// level, a limit lower by one or a request larger by a step the gang is refused. What is to be `free` is what lacks in
/// sum; `wait` and `constraint` have no smaller step. With `request` replicas that run keep what they take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What is changed.
    pub kind: ChangeKind,
    /// With `replicas` and `request`: the role. With `level` and `constraint`: the role that says it, if one does.
    #[serde(default)]
    pub role: Option<String>,
    /// With `level` and `constraint`: the group that says it, if one does.
    #[serde(default)]
    pub group: Option<String>,
    /// With `replicas` the count, with `level` the level (`cluster`: none), with `limit` the limit, with `request`
    /// the amount, with `nodes` how many.
    #[serde(default)]
    pub to: Option<String>,
    /// With `limit`: the queue.
    #[serde(default)]
    pub queue: Option<String>,
    /// With `limit`: the namespace, if its quota is meant.
    #[serde(default)]
    pub namespace: Option<String>,
    /// With `limit`, `request` and `free`: the resource.
    #[serde(default)]
    pub resource: Option<String>,
    /// With `wait`: the gang.
    #[serde(default)]
    pub gang: Option<String>,
    /// With `free`: how much.
    #[serde(default)]
    pub amount: Option<String>,
    /// With `free`: the domain or node where.
    #[serde(default)]
    pub at: Option<String>,
    /// With `constraint`: the field that is dropped, such as `node_selector` or `slices`.
    #[serde(default)]
    pub constraint: Option<String>,
    /// With `nodes`: the node that they are like.
    #[serde(default)]
    pub node: Option<String>,
    /// With `replicas` of a gang that has a `min_member`: what that comes down to.
    #[serde(default)]
    pub min_member: Option<i64>,
    /// Whether it was tried as if nothing ran: it does not admit the gang now, but with it the gang is not impossible.
    /// Of an impossible gang that no smaller count or request admits now, and where no change of its kind does.
    #[serde(default)]
    pub alone: bool,
    /// The change as a short sentence without full stop.
    pub text: String,
}

/// Proof that no placement exists in certain domains: points for the replicas of each role, such that the gang needs
/// more points than the nodes of a domain can host at best, each by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Points of one replica, by role; a role that is not listed has none.
    pub weights: BTreeMap<String, i64>,
    /// Points of all replicas that must still start.
    pub needs: i64,
    /// The most points that any of the domains can host.
    pub most: i64,
    /// The domains, their values joined by `/`; empty for the whole cluster.
    pub domains: Vec<String>,
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
    /// Whether it is proven that the gang cannot be placed; false only where the budget, the deadline or the memory for
    /// tables ended the search. The message says which.
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
    /// Proofs that no placement exists, where weights prove it.
    #[serde(default)]
    pub certificates: Vec<Certificate>,
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

/// Room that is kept for a gang that comes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Earmark {
    /// The nodes on which it is kept; none where it is room under limits.
    pub nodes: Vec<String>,
    /// When the gang can start there, in seconds from now; none: not known.
    #[serde(default)]
    pub starts_in_s: Option<i64>,
}

/// Gang → role → nodes: one node for each replica that starts now, by ascending index of those that do not run.
/// Of an elastic gang the last ones may be left out.
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
    /// Refused gang → the room that is kept for it.
    #[serde(default)]
    pub earmarks: BTreeMap<String, Earmark>,
    /// Sixteen hex digits over all of the plan but `stats` and this; empty: not given.
    #[serde(default)]
    pub hash: String,
    /// What the solve did.
    #[serde(default)]
    pub stats: Stats,
}

impl Plan {
    /// Sixteen hex digits that tell plans apart: over all of it but `stats` and `hash`.
    ///
    /// # Panics
    /// Never: plans hold texts, numbers, lists and maps by text only.
    ///
    /// # Source
    /// FNV-1a with 64 bits (Fowler, Noll, Vo), over the JSON of the parts.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut digest = Digest(0xcbf2_9ce4_8422_2325);
        let parts = (&self.version, &self.placements, &self.rejections, &self.traffic, &self.earmarks);
        serde_json::to_writer(&mut digest, &parts)
            .expect("plans hold texts, numbers, lists and maps by text only");
        format!("{:016x}", digest.0)
    }
}

struct Digest(u64);

impl std::io::Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
