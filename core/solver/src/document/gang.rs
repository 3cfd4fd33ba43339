//! Gang, Role, Traffic: replicas that start together or not at all.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Closeness, Group, NodeSelectorTerm, Pod, PreferredTerm, ReplicaAffinity, Toleration, one, yes};

/// How the replicas of a role stand in line: replica *i* talks to replica *i* + 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Ranks {
    /// The last one talks to the first.
    Ring,
    /// The last one does not.
    Chain,
}

/// One kind of replica of a gang: same requests, same needs, a count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Unique in the gang.
    pub name: String,
    /// How many, running ones included; 0: none of this role.
    pub replicas: i64,
    /// What one replica takes, by resource name. Each replica also takes one of `pods`.
    #[serde(default)]
    pub requests: BTreeMap<String, String>,
    /// The containers, in place of `requests`.
    #[serde(default)]
    pub pod: Option<Pod>,
    /// Labels that a node must have with these values.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// One of the terms must hold. No term means any node.
    #[serde(default)]
    pub node_affinity: Vec<NodeSelectorTerm>,
    /// Taints that these replicas tolerate.
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
    /// The gang has no replicas or at least so many of this role. None: all of them, or 0 where the gang says
    /// `min_member` or `min_groups`.
    #[serde(default)]
    pub min: Option<i64>,
    /// Inside the gang, higher grows first.
    #[serde(default)]
    pub priority: i64,
    /// Labels of the replicas, for the affinity of others.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Nodes that it would rather use.
    #[serde(default)]
    pub preferred_node_affinity: Vec<PreferredTerm>,
    /// Other replicas that it must or should lie near to, or apart from.
    #[serde(default)]
    pub replica_affinity: Vec<ReplicaAffinity>,
    /// How near to each other its replicas lie; none: nothing asked.
    #[serde(default)]
    pub topology: Option<Closeness>,
    /// Its replicas talk along their indexes, so that they are not alike.
    #[serde(default)]
    pub ranks: Option<Ranks>,
    /// Each replica has what zones offer from a single zone of its node. A node without zones is one zone.
    #[serde(default)]
    pub single_zone: bool,
}

/// How much the replicas of two roles talk to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// A role of the gang.
    pub a: String,
    /// A role of the gang; may equal `a`: each pair of its replicas talks.
    pub b: String,
    /// Cost for each pair of replicas and each topology level that parts them.
    #[serde(default = "one")]
    pub weight: i64,
}

/// Replicas that start together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gang {
    /// Unique in the snapshot.
    pub name: String,
    /// Its roles. The order decides nothing.
    pub roles: Vec<Role>,
    /// The queue that it waits in and is counted in; none: in no queue.
    #[serde(default)]
    pub queue: Option<String>,
    /// In a queue, higher comes first.
    #[serde(default)]
    pub priority: i64,
    /// When it was asked for, in seconds since 1970; among equals older comes first.
    #[serde(default)]
    pub created: i64,
    /// How near to each other its replicas lie; none: nothing asked.
    #[serde(default)]
    pub topology: Option<Closeness>,
    /// Groups of its roles.
    #[serde(default)]
    pub groups: Vec<Group>,
    /// Set of groups → how many of them must have their minimum; the others may have no replica. Empty: all groups
    /// must have their minimum.
    #[serde(default)]
    pub min_groups: BTreeMap<String, i64>,
    /// The gang has no replicas or at least so many; none: what its roles say.
    #[serde(default)]
    pub min_member: Option<i64>,
    /// Whether it may be evicted for others.
    #[serde(default = "yes")]
    pub preemptible: bool,
    /// How long it runs, in seconds, where that is known.
    #[serde(default)]
    pub runtime_s: Option<i64>,
    /// How many gangs that came after it have started while it waited.
    #[serde(default)]
    pub bypassed: i64,
    /// The namespace whose quota counts it.
    #[serde(default)]
    pub namespace: String,
    /// Which roles talk. Empty means that every pair of replicas does, with weight 1.
    #[serde(default)]
    pub traffic: Vec<Traffic>,
}

impl Default for Gang {
    /// A gang of nothing, to be filled in.
    fn default() -> Self {
        Self {
            name: String::new(),
            roles: Vec::new(),
            queue: None,
            priority: 0,
            created: 0,
            topology: None,
            groups: Vec::new(),
            min_groups: BTreeMap::new(),
            min_member: None,
            preemptible: yes(),
            runtime_s: None,
            bypassed: 0,
            namespace: String::new(),
            traffic: Vec::new(),
        }
    }
}
