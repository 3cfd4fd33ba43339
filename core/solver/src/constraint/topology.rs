//! The required level: all replicas of a gang, running ones too, in one domain.

use super::Demand;
use crate::model::{Domain, Model, NodeId};

/// Whether a domain holds all replicas of the gang that run already.
pub(crate) fn holds_running(demand: &Demand, domain: &Domain) -> bool {
    running(demand).all(|node| domain.contains(node))
}

/// Whether replicas that run lie in more than one domain of the required level already.
pub(crate) fn is_split(model: &Model, demand: &Demand) -> bool {
    let Some(required) = demand.required else { return false };
    running(demand).next().is_some()
        && !model.topology.domains(required).iter().any(|domain| holds_running(demand, domain))
}

fn running(demand: &Demand) -> impl Iterator<Item = NodeId> + '_ {
    demand.running.iter().flatten().copied()
}
