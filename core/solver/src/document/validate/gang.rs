//! Gangs, their roles and what they ask for.

use std::collections::BTreeSet;

use super::{Findings, MOST_REPLICAS, closeness, group, needs};
use crate::document::{Gang, Path, Snapshot};
use crate::error::ProblemCode;

/// Keeps the traffic of the largest gang within 64 bits for all but absurd gangs.
const MOST_WEIGHT: i64 = 1_000_000;

pub(super) fn gangs(snapshot: &Snapshot, path: &Path<'_>, findings: &mut Findings) {
    let queues: BTreeSet<&str> = snapshot.queues.iter().map(|queue| queue.name.as_str()).collect();
    let mut seen = BTreeSet::new();
    for (index, gang) in snapshot.gangs.iter().enumerate() {
        let path = path.item(index);
        findings.name(&gang.name, &mut seen, "gang", &path.field("name"));
        if let Some(queue) = &gang.queue {
            findings.reference(queue, &queues, "queue", &path.field("queue"));
        }
        closeness::closeness(gang.topology.as_ref(), &snapshot.topology, &path.field("topology"), findings);
        roles(gang, &snapshot.topology, &path.field("roles"), findings);
        group::groups(gang, &snapshot.topology, &path, findings);
        minimum(gang, &path.field("min_member"), findings);
        for (count, field) in [(gang.runtime_s.unwrap_or(0), "runtime_s"), (gang.bypassed, "bypassed")] {
            if count < 0 {
                let message = format!("must be at least 0, not {count}");
                findings.report(&path.field(field), ProblemCode::OutOfRange, message);
            }
        }
        traffic(gang, &path.field("traffic"), findings);
    }
}

fn roles(gang: &Gang, topology: &[String], path: &Path<'_>, findings: &mut Findings) {
    if gang.roles.is_empty() {
        findings.report(path, ProblemCode::BadValue, "must have at least one role");
    } else if gang.roles.iter().all(|role| role.replicas == 0) {
        findings.report(path, ProblemCode::BadValue, "must have at least one replica");
    }
    let mut seen = BTreeSet::new();
    for (index, role) in gang.roles.iter().enumerate() {
        let path = path.item(index);
        findings.name(&role.name, &mut seen, "role", &path.field("name"));
        if !(0..=MOST_REPLICAS).contains(&role.replicas) {
            let message = format!("must be from 0 to {MOST_REPLICAS}, not {}", role.replicas);
            findings.report(&path.field("replicas"), ProblemCode::OutOfRange, message);
        }
        if let Some(min) = role.min.filter(|min| !(0..=role.replicas.max(0)).contains(min)) {
            let message = format!("must be from 0 to the {} replicas, not {min}", role.replicas);
            findings.report(&path.field("min"), ProblemCode::OutOfRange, message);
        }
        closeness::closeness(role.topology.as_ref(), topology, &path.field("topology"), findings);
        needs::needs(role, &path, findings);
    }
}

fn minimum(gang: &Gang, path: &Path<'_>, findings: &mut Findings) {
    let replicas = gang.roles.iter().fold(0_i64, |sum, role| sum.saturating_add(role.replicas.max(0)));
    if let Some(min) = gang.min_member.filter(|min| !(0..=replicas).contains(min)) {
        let message = format!("must be from 0 to the {replicas} replicas of all roles, not {min}");
        findings.report(path, ProblemCode::OutOfRange, message);
    }
}

fn traffic(gang: &Gang, path: &Path<'_>, findings: &mut Findings) {
    let roles: BTreeSet<&str> = gang.roles.iter().map(|role| role.name.as_str()).collect();
    for (index, pair) in gang.traffic.iter().enumerate() {
        let path = path.item(index);
        findings.reference(&pair.a, &roles, "role", &path.field("a"));
        findings.reference(&pair.b, &roles, "role", &path.field("b"));
        if !(0..=MOST_WEIGHT).contains(&pair.weight) {
            let message = format!("must be from 0 to {MOST_WEIGHT}, not {}", pair.weight);
            findings.report(&path.field("weight"), ProblemCode::OutOfRange, message);
        }
    }
}
