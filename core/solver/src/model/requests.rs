//! What one replica takes, by the rule of Kubernetes for containers, sidecars (KEP-753) and overhead.

use std::collections::BTreeMap;

use super::{ResourceId, ResourceVec};
use crate::document::{Container, Pod, Role, Rounding, Running, parse_quantity};

/// Names of resources → their ids.
pub(super) struct Units {
    ids: BTreeMap<String, ResourceId>,
}

/// The resource that counts replicas.
pub(crate) const PODS: &str = "pods";

impl Units {
    pub(super) fn new(names: &[String]) -> Self {
        let ids = names.iter().enumerate().map(|(index, name)| (name.clone(), ResourceId::new(index)));
        Self { ids: ids.collect() }
    }

    pub(super) fn id(&self, name: &str) -> ResourceId {
        self.ids[name]
    }

    /// The amounts of a map of quantities; what it does not name is 0.
    pub(super) fn amounts(&self, quantities: &BTreeMap<String, String>, rounding: Rounding) -> ResourceVec {
        let mut amounts = ResourceVec::zero(self.ids.len());
        for (name, text) in quantities {
            let amount = parse_quantity(name, text, rounding).expect("validated: every quantity parses");
            amounts.set(self.id(name), amount);
        }
        amounts
    }

    /// A lone pod: its requests, and one of `pods`.
    pub(super) fn plain(&self, requests: &BTreeMap<String, String>) -> ResourceVec {
        let mut total = self.amounts(requests, Rounding::Up);
        total.set(self.id(PODS), 1);
        total
    }

    /// A pod of no gang.
    pub(super) fn holder(&self, holder: &Running) -> ResourceVec {
        holder.pod.as_ref().map_or_else(|| self.plain(&holder.requests), |pod| self.pod(pod))
    }

    /// A replica of `role`.
    pub(super) fn replica(&self, role: &Role) -> ResourceVec {
        match &role.pod {
            None => self.plain(&role.requests),
            Some(pod) => self.pod(pod),
        }
    }

    /// The larger of what runs together and of each init container with the sidecars before it; then the overhead.
    fn pod(&self, pod: &Pod) -> ResourceVec {
        let mut together = ResourceVec::zero(self.ids.len());
        for container in &pod.containers {
            together.add(&self.container(container), 1);
        }
        let mut sidecars = ResourceVec::zero(self.ids.len());
        let mut peak = ResourceVec::zero(self.ids.len());
        for container in &pod.init_containers {
            let request = self.container(container);
            if container.sidecar {
                sidecars.add(&request, 1);
                peak.raise_to(&sidecars);
            } else {
                let mut step = request;
                step.add(&sidecars, 1);
                peak.raise_to(&step);
            }
        }
        together.add(&sidecars, 1);
        together.raise_to(&peak);
        together.add(&self.amounts(&pod.overhead, Rounding::Up), 1);
        together.set(self.id(PODS), 1);
        together
    }

    /// A resource with a limit and no request requests its limit.
    fn container(&self, container: &Container) -> ResourceVec {
        let mut quantities = container.limits.clone();
        quantities.extend(container.requests.clone());
        self.amounts(&quantities, Rounding::Up)
    }
}
