//! The same facts as the snapshot, as dense ids and integers; immutable during a solve.
//!
//! [`build`](Model::build) and [`of_columns`](Model::of_columns) are the only places that read names. Everything is
//! sorted there, so that the order of the input decides nothing.

mod asked;
mod build;
mod columns;
mod ids;
mod matching;
mod queues;
mod requests;
mod resources;
mod shapes;
mod topology;
mod variant;

pub(crate) use asked::{Closeness, Company, Crowd, GroupFacts, Likeness};
pub(crate) use columns::{Amounts, Rows, verdict};
pub(crate) use ids::{ClassId, GangId, NodeId, QueueId, ResourceId, RoleId, ShapeId};
pub(crate) use requests::PODS;
pub(crate) use resources::ResourceVec;
pub(crate) use shapes::Shape;
pub(crate) use topology::{Domain, Level, Topology};

use std::sync::Arc;

use crate::document::{Ranks, Rule};

/// What every search may read. A clone shares all that is large.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    /// Names of the resources, sorted.
    pub(crate) resources: Vec<String>,
    pub(crate) topology: Arc<Topology>,
    /// In canonical order.
    pub(crate) nodes: Arc<Vec<NodeFacts>>,
    /// By resource, what all nodes offer together.
    pub(crate) capacity: Vec<i128>,
    pub(crate) queues: Vec<QueueFacts>,
    pub(crate) gangs: Vec<Arc<GangFacts>>,
    /// Pods of no gang.
    pub(crate) pods: Arc<Vec<PodFacts>>,
    /// By class, the first rule that keeps each node away; none where the class may run.
    pub(crate) classes: Arc<Vec<Vec<Option<Rule>>>>,
    /// Requests with their classes, each once.
    pub(crate) shapes: Vec<Shape>,
    /// What near means in terms on company.
    pub(crate) likenesses: Arc<Vec<Likeness>>,
    /// Whom terms on company are about.
    pub(crate) crowds: Arc<Vec<Crowd>>,
    /// Roles that must not have certain others near them.
    pub(crate) shy: Vec<(GangId, RoleId)>,
    /// Limits on namespaces, by name.
    pub(crate) quotas: Vec<QuotaFacts>,
}

/// A limit on a namespace.
#[derive(Debug, Clone)]
pub(crate) struct QuotaFacts {
    pub(crate) namespace: String,
    /// By resource; none: no limit.
    pub(crate) hard: Vec<Option<i64>>,
    /// What others use.
    pub(crate) used: ResourceVec,
}

/// A machine.
#[derive(Debug, Clone)]
pub(crate) struct NodeFacts {
    pub(crate) name: String,
    pub(crate) allocatable: ResourceVec,
    /// Ready and not cordoned.
    pub(crate) is_open: bool,
    /// What each zone offers; empty: the node is one zone.
    pub(crate) zones: Vec<ResourceVec>,
    /// The resources that some zone lists.
    pub(crate) zoned: Vec<ResourceId>,
}

/// A queue.
#[derive(Debug, Clone)]
pub(crate) struct QueueFacts {
    pub(crate) name: String,
    pub(crate) parent: Option<QueueId>,
    pub(crate) priority: i64,
    /// By resource; none: no limit.
    pub(crate) limit: Vec<Option<i64>>,
    /// By resource; none: not accounted.
    pub(crate) deserved: Vec<Option<i64>>,
    pub(crate) guarantee: ResourceVec,
    pub(crate) weight: i64,
    pub(crate) created: i64,
    pub(crate) open: bool,
}

/// A gang.
#[derive(Debug, Clone)]
pub(crate) struct GangFacts {
    pub(crate) name: String,
    pub(crate) queue: Option<QueueId>,
    pub(crate) priority: i64,
    pub(crate) created: i64,
    pub(crate) preemptible: bool,
    /// How long it will run, in seconds; none: not known.
    pub(crate) runtime_s: Option<i64>,
    /// How long it waits, in seconds.
    pub(crate) age_s: i64,
    pub(crate) bypassed: i64,
    pub(crate) required: Option<Level>,
    pub(crate) closeness: Option<Closeness>,
    /// Outer ones first, then by name.
    pub(crate) groups: Vec<GroupFacts>,
    /// By set of groups, how many must have their minimum; empty: all groups must.
    pub(crate) min_groups: Vec<i64>,
    pub(crate) min_member: Option<i64>,
    /// The quota of its namespace, a position in the model's `quotas`.
    pub(crate) quota: Option<usize>,
    /// It has rules beyond counts and a level of its own, or others have rules about it.
    pub(crate) is_structured: bool,
    pub(crate) roles: Vec<RoleFacts>,
    /// Pairs of roles that talk, each pair once.
    pub(crate) traffic: Vec<TalkingPair>,
}

impl GangFacts {
    pub(crate) fn roles(&self) -> impl Iterator<Item = (RoleId, &RoleFacts)> {
        self.roles.iter().enumerate().map(|(index, role)| (RoleId::new(index), role))
    }

    /// Everything that is asked about where replicas lie, with the roles that it is about: of the gang (which has
    /// the roles `all`), of its groups, outer ones first, and of its roles.
    pub(crate) fn asked<'a>(
        &'a self,
        all: &'a [RoleId],
    ) -> impl Iterator<Item = (&'a [RoleId], &'a Closeness)> {
        let of_gang = self.closeness.iter().map(move |closeness| (all, closeness));
        let of_group =
            self.groups.iter().filter_map(|group| Some((group.roles.as_slice(), group.closeness.as_ref()?)));
        let of_role = self.roles.iter().filter_map(|role| Some((&role.own[..], role.closeness.as_ref()?)));
        of_gang.chain(of_group).chain(of_role)
    }

    /// Whether it can do with fewer replicas than it asks for.
    pub(crate) fn is_elastic(&self) -> bool {
        self.roles.iter().any(|role| role.min < role.replicas)
    }

    /// Whether a replica does not run yet.
    pub(crate) fn waits(&self) -> bool {
        self.roles.iter().any(|role| role.to_start() > 0)
    }
}

/// A role of a gang.
#[derive(Debug, Clone)]
pub(crate) struct RoleFacts {
    pub(crate) name: String,
    pub(crate) replicas: i64,
    /// What one replica takes, `pods` included.
    pub(crate) request: ResourceVec,
    pub(crate) class: ClassId,
    /// It has a closeness, so nodes outside the topology are not for it.
    pub(crate) inside_topology: bool,
    /// Its request and class.
    pub(crate) shape: ShapeId,
    /// By index.
    pub(crate) running: Vec<RunningReplica>,
    /// Indexes of replicas that are leaving: they hold nothing, and their indexes are not for new ones.
    pub(crate) leaving: Vec<i64>,
    /// At least so many, if the gang has any replica.
    pub(crate) min: i64,
    pub(crate) priority: i64,
    pub(crate) closeness: Option<Closeness>,
    /// Itself, as a list of roles.
    pub(crate) own: [RoleId; 1],
    pub(crate) company: Vec<Company>,
    pub(crate) ranks: Option<Ranks>,
    pub(crate) single_zone: bool,
    /// By node, how much it would rather be there; empty: it does not care.
    pub(crate) scores: Vec<i64>,
}

impl RoleFacts {
    /// How many replicas are left when those that leave are gone and none is started anew in their stead.
    pub(crate) fn staying(&self) -> i64 {
        self.replicas - i64::try_from(self.leaving.len()).expect("indexes are below `replicas`")
    }

    /// How many replicas must still start.
    pub(crate) fn to_start(&self) -> i64 {
        self.staying() - i64::try_from(self.running.len()).expect("indexes are below `replicas`")
    }
}

/// A replica that holds a place.
#[derive(Debug, Clone)]
pub(crate) struct RunningReplica {
    pub(crate) node: NodeId,
    pub(crate) index: i64,
    pub(crate) reserved: bool,
    /// In how many seconds it ends, if that is known.
    pub(crate) ends_s: Option<i64>,
    /// The zone that it sits in.
    pub(crate) zone: Option<usize>,
}

/// A pod of no gang that holds a place.
#[derive(Debug, Clone)]
pub(crate) struct PodFacts {
    pub(crate) name: String,
    pub(crate) node: NodeId,
    pub(crate) request: ResourceVec,
    pub(crate) queue: Option<QueueId>,
    pub(crate) reserved: bool,
    /// In how many seconds it ends, if that is known.
    pub(crate) ends_s: Option<i64>,
    /// The zone that it sits in.
    pub(crate) zone: Option<usize>,
}

/// Two roles whose replicas talk; the same role twice: its replicas talk with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TalkingPair {
    pub(crate) a: RoleId,
    pub(crate) b: RoleId,
    pub(crate) weight: i64,
}

/// What nodes offer together, by resource.
fn capacity_of(nodes: &[NodeFacts], resources: usize) -> Vec<i128> {
    let mut sums = vec![0; resources];
    for node in nodes {
        for (sum, amount) in sums.iter_mut().zip(node.allocatable.as_slice()) {
            *sum += i128::from(*amount);
        }
    }
    sums
}

impl Model {
    /// A queue and all queues above it.
    pub(crate) fn path_up(&self, queue: Option<QueueId>) -> impl Iterator<Item = QueueId> + '_ {
        std::iter::successors(queue, |queue| self.queues[queue.index()].parent)
    }

    pub(crate) fn resource_ids(&self) -> impl Iterator<Item = ResourceId> + use<> {
        (0..self.resources.len()).map(ResourceId::new)
    }

    /// The queues right below one; below none: the roots.
    pub(crate) fn queues_below(&self, above: Option<QueueId>) -> impl Iterator<Item = QueueId> + '_ {
        self.queue_ids().filter(move |queue| self.queues[queue.index()].parent == above)
    }

    pub(crate) fn queue_ids(&self) -> impl Iterator<Item = QueueId> + use<> {
        (0..self.queues.len()).map(QueueId::new)
    }

    pub(crate) fn gang_ids(&self) -> impl Iterator<Item = GangId> + use<> {
        (0..self.gangs.len()).map(GangId::new)
    }

    pub(crate) fn gang(&self, gang: GangId) -> &GangFacts {
        &self.gangs[gang.index()]
    }

    pub(crate) fn role(&self, gang: GangId, role: RoleId) -> &RoleFacts {
        &self.gangs[gang.index()].roles[role.index()]
    }

    /// The first rule that keeps a node away from a role.
    pub(crate) fn exclusion(&self, role: &RoleFacts, node: NodeId) -> Option<Rule> {
        match self.classes[role.class.index()][node.index()] {
            rule @ Some(Rule::NodeNotReady | Rule::NodeCordoned) => rule,
            _ if role.inside_topology && !self.topology.is_inside(node) => Some(Rule::NodeOutsideTopology),
            rule => rule,
        }
    }
}
