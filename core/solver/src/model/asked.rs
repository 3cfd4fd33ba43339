//! What a gang asks beyond places: closeness, groups, minimums, and the company of other replicas.

use std::collections::BTreeMap;

use super::{GangId, Level, RoleId, Topology};
use crate::document::{self, Gang, Node, Role, Running};

/// Where replicas lie relative to each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Closeness {
    pub(crate) required: Option<Level>,
    pub(crate) preferred: Option<Level>,
    pub(crate) slices: Vec<Layer>,
    pub(crate) balanced: bool,
    pub(crate) spread: Vec<Layer>,
}

/// A level with a count: the size of slices, or the most replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) level: Level,
    pub(crate) count: i64,
}

/// A group of roles.
#[derive(Debug, Clone)]
pub(crate) struct GroupFacts {
    pub(crate) name: String,
    /// Its roles and those of the groups below it.
    pub(crate) roles: Vec<RoleId>,
    /// How many groups are above it.
    pub(crate) depth: usize,
    pub(crate) closeness: Option<Closeness>,
    pub(crate) min: i64,
    /// The set that it is counted in, a position in the gang's `min_groups`.
    pub(crate) set: Option<usize>,
}

/// A term on the company of a role's replicas.
#[derive(Debug, Clone)]
pub(crate) struct Company {
    /// What near means, a position in the model's `likenesses`.
    pub(crate) near: usize,
    /// Whom it is about, a position in the model's `crowds`.
    pub(crate) whom: usize,
    pub(crate) anti: bool,
    pub(crate) required: bool,
}

/// By node, which value of a label it has, as a number; none: it lacks the label.
pub(crate) type Likeness = Vec<Option<u32>>;

/// Replicas and pods that carry certain labels.
#[derive(Debug, Clone, Default)]
pub(crate) struct Crowd {
    /// The gang that its labels name: nobody else can ever belong.
    pub(crate) only_of: Option<String>,
    /// Sorted.
    pub(crate) roles: Vec<(GangId, RoleId)>,
    /// By pod of no gang, whether it belongs.
    pub(crate) pods: Vec<bool>,
}

impl Crowd {
    pub(crate) fn has(&self, gang: GangId, role: RoleId) -> bool {
        self.roles.binary_search(&(gang, role)).is_ok()
    }
}

/// The words of a document as facts.
pub(super) fn closeness(asked: Option<&document::Closeness>, topology: &Topology) -> Option<Closeness> {
    let asked = asked?;
    let level = |name: &String| topology.named(name).expect("validated: every level is known");
    Some(Closeness {
        required: asked.required.as_ref().map(level),
        preferred: asked.preferred.as_ref().map(level),
        slices: asked
            .slices
            .iter()
            .map(|slice| Layer { level: level(&slice.level), count: slice.size })
            .collect(),
        balanced: asked.balanced,
        spread: asked.spread.iter().map(|cap| Layer { level: level(&cap.level), count: cap.most }).collect(),
    })
}

/// The groups of a gang, outer ones first, then by name; `sets` are the keys of its `min_groups`.
pub(super) fn groups(gang: &Gang, roles: &[&Role], topology: &Topology) -> Vec<GroupFacts> {
    let sets: Vec<&String> = gang.min_groups.keys().collect();
    let parent_of: BTreeMap<&str, &str> = gang
        .groups
        .iter()
        .filter_map(|group| Some((group.name.as_str(), group.parent.as_deref()?)))
        .collect();
    let above = |name: &str| {
        let mut path = vec![name.to_owned()];
        while let Some(parent) = path.last().and_then(|last| parent_of.get(last.as_str())) {
            path.push((*parent).to_owned());
        }
        path
    };
    let mut facts: Vec<GroupFacts> = gang
        .groups
        .iter()
        .map(|group| GroupFacts {
            name: group.name.clone(),
            roles: roles
                .iter()
                .enumerate()
                .filter(|(_, role)| {
                    gang.groups
                        .iter()
                        .filter(|inner| inner.roles.contains(&role.name))
                        .any(|inner| above(&inner.name).contains(&group.name))
                })
                .map(|(index, _)| RoleId::new(index))
                .collect(),
            depth: above(&group.name).len() - 1,
            closeness: closeness(group.topology.as_ref(), topology),
            min: group.min.unwrap_or(0),
            set: group.set.as_ref().and_then(|set| sets.iter().position(|known| *known == set)),
        })
        .collect();
    facts.sort_by(|a, b| (a.depth, &a.name).cmp(&(b.depth, &b.name)));
    facts
}

/// The label of a node's own name, which is the level `node` where no node carries it.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// Labels that each replica carries anyway.
const GANG: &str = "gangplan.dev/gang";
const ROLE: &str = "gangplan.dev/role";

/// What the terms on company of all roles are about, each crowd and each likeness once.
pub(super) struct Companies<'a> {
    nodes: &'a [&'a Node],
    likenesses: BTreeMap<&'a str, usize>,
    made: Vec<Likeness>,
    crowds: BTreeMap<&'a BTreeMap<String, String>, usize>,
}

impl<'a> Companies<'a> {
    pub(super) fn new(nodes: &'a [&'a Node]) -> Self {
        Self { nodes, likenesses: BTreeMap::new(), made: Vec::new(), crowds: BTreeMap::new() }
    }

    /// The terms of a role.
    pub(super) fn of(&mut self, role: &'a Role) -> Vec<Company> {
        let mut terms = Vec::new();
        for affinity in &role.replica_affinity {
            let fresh = self.crowds.len();
            terms.push(Company {
                near: self.near(&affinity.level),
                whom: *self.crowds.entry(&affinity.match_labels).or_insert(fresh),
                anti: affinity.anti,
                required: affinity.required,
            });
        }
        terms
    }

    fn near(&mut self, key: &'a str) -> usize {
        let fresh = self.made.len();
        let known = *self.likenesses.entry(key).or_insert(fresh);
        if known == fresh {
            let is_node = key == "node"
                || (key == HOSTNAME && !self.nodes.iter().any(|node| node.labels.contains_key(key)));
            let mut values: BTreeMap<&str, u32> = BTreeMap::new();
            let number = |(index, node): (u32, &&'a Node)| {
                let fresh = u32::try_from(values.len()).expect("fewer values than nodes");
                let value = node.labels.get(key);
                if is_node { Some(index) } else { value.map(|value| *values.entry(value).or_insert(fresh)) }
            };
            self.made.push((0..).zip(self.nodes).map(number).collect());
        }
        known
    }

    /// The likenesses, and the crowds among the roles of `gangs` and the pods of no gang, both sorted by name.
    pub(super) fn finish(self, gangs: &[&Gang], pods: &[&Running]) -> (Vec<Likeness>, Vec<Crowd>) {
        let mut crowds = vec![Crowd::default(); self.crowds.len()];
        for (labels, index) in self.crowds {
            let crowd = &mut crowds[index];
            crowd.only_of = labels.get(GANG).cloned();
            let of_pod = |pod: &&Running| holds_all(labels, |key| pod.labels.get(key).map(String::as_str));
            crowd.pods = pods.iter().map(of_pod).collect();
            for (g, gang) in gangs.iter().enumerate() {
                let mut roles: Vec<&Role> = gang.roles.iter().collect();
                roles.sort_by(|a, b| a.name.cmp(&b.name));
                for (r, role) in roles.into_iter().enumerate() {
                    let carried = |key: &str| match key {
                        GANG => Some(gang.name.as_str()),
                        ROLE => Some(role.name.as_str()),
                        _ => role.labels.get(key).map(String::as_str),
                    };
                    if holds_all(labels, carried) {
                        crowd.roles.push((GangId::new(g), RoleId::new(r)));
                    }
                }
            }
        }
        (self.made, crowds)
    }
}

fn holds_all<'a>(labels: &BTreeMap<String, String>, carried: impl Fn(&str) -> Option<&'a str>) -> bool {
    labels.iter().all(|(key, value)| carried(key) == Some(value.as_str()))
}
