//! Replicas lie near those that they must be near to, and apart from those that they must be apart from.

use std::collections::BTreeMap;

use super::{Violation, Violations, cluster::Cluster, minimums::may_begin};
use crate::document::{Gang, Node, Path, Plan, ReplicaAffinity, Role, Rule};

/// Somebody on a node once the plan is carried out.
struct Present<'a> {
    node: &'a Node,
    labels: BTreeMap<&'a str, &'a str>,
    of: Option<(&'a Gang, &'a Role)>,
    /// Where the plan places it, among those of its role.
    placed: Option<usize>,
}

/// A placed replica that has nobody near it because it is the first of its kind.
struct First<'a> {
    one: &'a Present<'a>,
    gang: &'a Gang,
    kind: &'a BTreeMap<String, String>,
    path: String,
    message: String,
}

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let present = present(cluster, plan);
    let placements = Path::Root.field("placements");
    let mut firsts: Vec<First<'_>> = Vec::new();
    for (index, one) in present.iter().enumerate() {
        let Some((gang, role)) = one.of else { continue };
        for term in role.replica_affinity.iter().filter(|term| term.required) {
            let others = || {
                let matching = |(other, that): &(usize, &Present<'_>)| {
                    *other != index && carries(&that.labels, &term.match_labels)
                };
                present.iter().enumerate().filter(matching).map(|(_, that)| that)
            };
            let value = place(cluster, term, one.node);
            let is_near = |that: &&Present<'_>| value.is_some() && place(cluster, term, that.node) == value;
            if term.anti {
                // Who runs already is not moved; who comes must not come near, from either side.
                for that in others().filter(is_near) {
                    let new = if one.placed.is_some() { one } else { that };
                    if let Some(((gang, role), at)) = new.of.zip(new.placed) {
                        let path = placements.field(&gang.name);
                        let path = path.field(&role.name);
                        let message = format!("two that must be apart share one {}", term.level);
                        found.add(Rule::CompanyUnwanted, &path.item(at), message);
                    }
                }
            } else if let Some(at) = one.placed.filter(|_| !others().any(|that| is_near(&that))) {
                let path = placements.field(&gang.name);
                let path = path.field(&role.name);
                let message = format!("nobody that it must be near to is in its {}", term.level);
                let kind = &term.match_labels;
                if value.is_some() && may_be_first(cluster, &present, one, kind) {
                    firsts.push(First { one, gang, kind, path: path.item(at).to_string(), message });
                } else {
                    found.add(Rule::CompanyMissing, &path.item(at), message);
                }
            }
        }
    }
    for (index, first) in firsts.iter().enumerate() {
        let contradicts = |other: &&First<'_>| {
            !std::ptr::eq(first.one, other.one)
                && comes_after(&present, first, other)
                && comes_after(&present, other, first)
        };
        if firsts[..index].iter().any(|other| contradicts(&other)) {
            let (path, message) = (first.path.clone(), first.message.clone());
            found.list.push(Violation { rule: Rule::CompanyMissing.code(), path, message });
        }
    }
}

/// Whether a placed replica may have been the first of a kind: none of it runs, others of its gang may have come with
/// its growth.
fn may_be_first(
    cluster: &Cluster<'_>,
    present: &[Present<'_>],
    one: &Present<'_>,
    kind: &BTreeMap<String, String>,
) -> bool {
    let Some((gang, role)) = one.of else { return false };
    let mut totals: BTreeMap<&str, i64> = BTreeMap::new();
    for role in &gang.roles {
        let running = i64::try_from(cluster.running(gang, role).len()).unwrap_or(i64::MAX);
        totals.insert(&role.name, running);
    }
    for that in present {
        let is_of_kind = carries(&that.labels, kind);
        if is_of_kind && that.placed.is_none() {
            return false;
        }
        if let (Some((other, role)), Some(_)) = (that.of, that.placed)
            && other.name == gang.name
            && (!is_of_kind || std::ptr::eq(that, one))
            && let Some(total) = totals.get_mut(role.name.as_str())
        {
            *total += 1;
        }
    }
    carries(&one.labels, kind) && may_begin(gang, totals, &role.name)
}

/// Whether `other` must have been placed after `first`: it, or what was placed together with it, is of that kind.
fn comes_after(present: &[Present<'_>], first: &First<'_>, other: &First<'_>) -> bool {
    let grows = other.gang.min_member.is_some()
        || !other.gang.min_groups.is_empty()
        || other.gang.roles.iter().any(|role| role.min.is_some());
    if grows {
        return carries(&other.one.labels, first.kind);
    }
    let is_of_it = |that: &&Present<'_>| {
        that.placed.is_some() && that.of.is_some_and(|(gang, _)| gang.name == other.gang.name)
    };
    first.gang.name != other.gang.name
        && present.iter().filter(is_of_it).any(|that| carries(&that.labels, first.kind))
}

/// The place of a node as a term names it: the value of the label, or the node itself.
fn place<'a>(cluster: &Cluster<'_>, term: &ReplicaAffinity, node: &'a Node) -> Option<&'a str> {
    let is_name = term.level == "node"
        || (term.level == "kubernetes.io/hostname"
            && !cluster.snapshot.nodes.iter().any(|node| node.labels.contains_key(&term.level)));
    if is_name { Some(&node.name) } else { node.labels.get(&term.level).map(String::as_str) }
}

fn carries(labels: &BTreeMap<&str, &str>, wanted: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(key, value)| labels.get(key.as_str()) == Some(&value.as_str()))
}

fn present<'a>(cluster: &Cluster<'a>, plan: &'a Plan) -> Vec<Present<'a>> {
    let mut all = Vec::new();
    for running in cluster.snapshot.running.iter().filter(|running| !running.terminating) {
        let Some(node) = cluster.nodes.get(running.node.as_str()) else { continue };
        let member = running.gang.as_deref().zip(running.role.as_deref()).and_then(|(gang, role)| {
            let gang = cluster.gangs.get(gang)?;
            Some((*gang, gang.roles.iter().find(|known| known.name == role)?))
        });
        let labels = match member {
            Some((gang, role)) => labels(gang, role),
            None => running.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
        };
        all.push(Present { node, labels, of: member, placed: None });
    }
    for placed in cluster.placed(plan) {
        all.push(Present {
            node: placed.node,
            labels: labels(placed.gang, placed.role),
            of: Some((placed.gang, placed.role)),
            placed: Some(placed.index),
        });
    }
    all
}

fn labels<'a>(gang: &'a Gang, role: &'a Role) -> BTreeMap<&'a str, &'a str> {
    let mut labels: BTreeMap<&str, &str> =
        role.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    labels.insert("gangplan.dev/gang", &gang.name);
    labels.insert("gangplan.dev/role", &role.name);
    labels
}
