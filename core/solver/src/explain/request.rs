//! Smaller requests that admit a refused gang.

use super::changes::{admitted, change};
use super::written;
use crate::constraint::Demand;
use crate::document::{Change, ChangeKind};
use crate::model::{ResourceId, RoleId};
use crate::search::{Budget, largest};
use crate::state::Ledger;

/// Steps in which people write amounts, the largest first: thousandths of a core, bytes, anything else.
const CPU_STEPS: [i64; 4] = [1000, 100, 10, 1];
const BYTE_STEPS: [i64; 4] = [1 << 30, 1 << 27, 1 << 20, 1];
const OTHER_STEPS: [i64; 1] = [1];
/// A step is fine enough if the request has so many of it.
const ENOUGH_STEPS: i64 = 8;

/// The largest request of `resource`, in whole steps, with which the gang is admitted: of the role that asks for most
/// of it.
pub(super) fn smaller_request(
    ledger: &Ledger<'_>,
    demand: &Demand,
    resource: ResourceId,
    budget: &mut Budget<'_>,
) -> Option<Change> {
    let model = ledger.model();
    let needs = |role: &RoleId| {
        i128::from(model.role(demand.gang, *role).request.get(resource)) * i128::from(demand.count(*role))
    };
    let role = demand.roles().max_by_key(|role| (needs(role), *role))?;
    let facts = model.role(demand.gang, role);
    let now = facts.request.get(resource);
    let name = &model.resources[resource.index()];
    let step = step(name, now);
    let mut fits = |steps: i64| {
        let mut request = facts.request.clone();
        request.set(resource, steps * step);
        let variant = model.with_request(demand.gang, role, request);
        let mut ledger = ledger.on(&variant);
        budget.refill();
        admitted(&mut ledger, demand, budget).is_some()
    };
    if now <= step || !fits(1) {
        return None;
    }
    let good = largest(1, (now - 1) / step + 1, fits);
    let (from, to) =
        (written(model, resource, i128::from(now)), written(model, resource, i128::from(good * step)));
    Some(Change {
        role: Some(facts.name.clone()),
        resource: Some(name.clone()),
        to: Some(to.clone()),
        ..change(
            ChangeKind::Request,
            format!("request {to} {name} for each {} instead of {from}", facts.name),
        )
    })
}

fn step(resource: &str, amount: i64) -> i64 {
    let steps: &[i64] = match resource {
        "cpu" => &CPU_STEPS,
        "memory" | "ephemeral-storage" | "storage" => &BYTE_STEPS,
        _ => &OTHER_STEPS,
    };
    steps.iter().copied().find(|step| amount / step >= ENOUGH_STEPS).or(steps.last().copied()).unwrap_or(1)
}
