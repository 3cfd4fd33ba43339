//! Proofs that a gang does not fit, which anyone can verify without a search.

use std::collections::BTreeMap;

use crate::constraint::topology;
use crate::document::Certificate;
use crate::model::Level;
use crate::search::{Budget, Field, Prover};
use crate::state::Ledger;

/// With more domains to refute, the proof would be longer than it is worth.
const MOST_DOMAINS: usize = 1000;

/// Weights that refute the gang in every domain of the level that decides; empty where some domain needs a table.
pub(super) fn certificates(
    ledger: &Ledger<'_>,
    field: &Field<'_>,
    budget: &mut Budget<'_>,
) -> Vec<Certificate> {
    let (model, demand) = (ledger.model(), field.demand);
    let level = demand.required.unwrap_or(Level::CLUSTER);
    let domains: Vec<_> = model
        .topology
        .domains(level)
        .iter()
        .filter(|domain| topology::holds_running(demand, domain))
        .collect();
    if domains.len() > MOST_DOMAINS {
        return Vec::new();
    }
    let mut prover = Prover::default();
    let mut by_weights: BTreeMap<usize, Certificate> = BTreeMap::new();
    for domain in domains {
        let proof = prover.refute(ledger, field, &field.slots(domain), budget);
        let numbers = proof.and_then(|proof| {
            Some((proof.weights, i64::try_from(proof.needs).ok()?, i64::try_from(proof.most).ok()?))
        });
        let Some((weights, needs, most)) = numbers else { return Vec::new() };
        let certificate = by_weights.entry(weights).or_insert_with(|| Certificate {
            weights: prover
                .weights(weights)
                .filter(|(_, weight)| *weight > 0)
                .map(|(role, weight)| (model.role(demand.gang, role).name.clone(), weight))
                .collect(),
            needs,
            most,
            domains: Vec::new(),
        });
        certificate.most = certificate.most.max(most);
        certificate.domains.push(domain.name.clone());
    }
    by_weights.into_values().collect()
}
