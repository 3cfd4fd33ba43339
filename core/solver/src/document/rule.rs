//! Rule: the stable codes under which a gang is refused or a plan is judged; `docs/rules.md` has a row for each.

/// A rule that binds a gang, or that a plan breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The queue, or one above it, admits nothing new.
    QueueClosed,
    /// A limit of the queue, or of one above it, would be passed.
    QueueLimitExceeded,
    /// The gang may not be preempted, and would take more than its queue, or one above it, deserves.
    QueueDeservedExceeded,
    /// The gang would take what other queues are guaranteed and do not use yet.
    GuaranteeKept,
    /// A gang that came first in its queue cannot start, and nothing may start behind it.
    QueueHeadWaits,
    /// The room is kept for a gang that comes first.
    RoomKept,
    /// What the namespace may use together would be passed.
    NamespaceQuotaExceeded,
    /// The node is not ready.
    NodeNotReady,
    /// The node is cordoned.
    NodeCordoned,
    /// The node lacks a topology label, and the gang asks for a topology level.
    NodeOutsideTopology,
    /// A label of the node selector is missing or has another value.
    NodeSelectorMismatch,
    /// No term of the required node affinity holds.
    NodeAffinityMismatch,
    /// A taint of the node is not tolerated.
    TaintNotTolerated,
    /// Replicas lie in more than one domain of the required level.
    TopologySplit,
    /// Not enough of a resource is free, even in sum.
    CapacityInsufficient,
    /// No single domain of the required level has enough, although the cluster has.
    TopologyTooSmall,
    /// The replicas in a domain would be no multiple of the size of a slice.
    SlicesBroken,
    /// More replicas than a domain may hold.
    SpreadExceeded,
    /// Nobody is near that a replica must be near to.
    CompanyMissing,
    /// Somebody is near that a replica must be apart from.
    CompanyUnwanted,
    /// No single zone of a node has enough for a replica that needs one.
    ZoneTooSmall,
    /// The minimum of a group, or of a set of groups, is not met; that of a gang, because replicas of it are leaving.
    GroupIncomplete,
    /// The sums suffice, the pieces do not.
    PackingImpossible,
    /// The solve was stopped before it came to an answer.
    Stopped,
    /// A plan names a gang, role or node that is not in the snapshot.
    PlanUnknownName,
    /// A plan does not answer a waiting gang exactly once, or answers one that does not wait.
    GangUnanswered,
    /// A plan starts more or fewer replicas of a gang than must start.
    GangIncomplete,
    /// A plan states another traffic than its placements have.
    TrafficMiscounted,
    /// A certificate of a plan does not prove what it says.
    CertificateWrong,
}

impl Rule {
    /// All rules: first those that refuse, in the order in which they are asked, then those that judge plans only.
    pub const ALL: [Self; 29] = [
        Self::QueueClosed,
        Self::QueueLimitExceeded,
        Self::QueueDeservedExceeded,
        Self::GuaranteeKept,
        Self::QueueHeadWaits,
        Self::RoomKept,
        Self::NamespaceQuotaExceeded,
        Self::NodeNotReady,
        Self::NodeCordoned,
        Self::NodeOutsideTopology,
        Self::NodeSelectorMismatch,
        Self::NodeAffinityMismatch,
        Self::TaintNotTolerated,
        Self::TopologySplit,
        Self::CapacityInsufficient,
        Self::TopologyTooSmall,
        Self::SlicesBroken,
        Self::SpreadExceeded,
        Self::CompanyMissing,
        Self::CompanyUnwanted,
        Self::ZoneTooSmall,
        Self::GroupIncomplete,
        Self::PackingImpossible,
        Self::Stopped,
        Self::PlanUnknownName,
        Self::GangUnanswered,
        Self::GangIncomplete,
        Self::TrafficMiscounted,
        Self::CertificateWrong,
    ];

    /// The code as it stands in documents.
    pub const fn code(self) -> &'static str {
        match self {
            Self::QueueClosed => "QUEUE_CLOSED",
            Self::QueueLimitExceeded => "QUEUE_LIMIT_EXCEEDED",
            Self::QueueDeservedExceeded => "QUEUE_DESERVED_EXCEEDED",
            Self::GuaranteeKept => "GUARANTEE_KEPT",
            Self::QueueHeadWaits => "QUEUE_HEAD_WAITS",
            Self::RoomKept => "ROOM_KEPT",
            Self::NodeNotReady => "NODE_NOT_READY",
            Self::NodeCordoned => "NODE_CORDONED",
            Self::NodeOutsideTopology => "NODE_OUTSIDE_TOPOLOGY",
            Self::NodeSelectorMismatch => "NODE_SELECTOR_MISMATCH",
            Self::NodeAffinityMismatch => "NODE_AFFINITY_MISMATCH",
            Self::TaintNotTolerated => "TAINT_NOT_TOLERATED",
            Self::TopologySplit => "TOPOLOGY_SPLIT",
            Self::CapacityInsufficient => "CAPACITY_INSUFFICIENT",
            Self::TopologyTooSmall => "TOPOLOGY_TOO_SMALL",
            Self::NamespaceQuotaExceeded => "NAMESPACE_QUOTA_EXCEEDED",
            Self::SlicesBroken => "SLICES_BROKEN",
            Self::SpreadExceeded => "SPREAD_EXCEEDED",
            Self::CompanyMissing => "COMPANY_MISSING",
            Self::CompanyUnwanted => "COMPANY_UNWANTED",
            Self::ZoneTooSmall => "ZONE_TOO_SMALL",
            Self::GroupIncomplete => "GROUP_INCOMPLETE",
            Self::PackingImpossible => "PACKING_IMPOSSIBLE",
            Self::Stopped => "STOPPED",
            Self::PlanUnknownName => "PLAN_UNKNOWN_NAME",
            Self::GangUnanswered => "GANG_UNANSWERED",
            Self::GangIncomplete => "GANG_INCOMPLETE",
            Self::TrafficMiscounted => "TRAFFIC_MISCOUNTED",
            Self::CertificateWrong => "CERTIFICATE_WRONG",
        }
    }
}
