//! Replicas lie near those that they must be near to, and apart from those that they must be apart from.

use std::collections::BTreeMap;

use super::{Violations, cluster::Cluster};
use crate::document::{Gang, Node, Path, Plan, ReplicaAffinity, Role, Rule};

/// Somebody on a node once the plan is carried out.
struct Present<'a> {
    node: &'a Node,
    labels: BTreeMap<&'a str, &'a str>,
    role: Option<&'a Role>,
    /// Where the plan places it.
    placed: Option<(&'a str, usize)>,
}

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let present = present(cluster, plan);
    let placements = Path::Root.field("placements");
    for (index, one) in present.iter().enumerate() {
        let Some(role) = one.role else { continue };
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
                    if let Some((gang, at)) = one.placed.or(that.placed) {
                        let name = if one.placed.is_some() {
                            &role.name
                        } else {
                            that.role.map_or("", |role| &role.name)
                        };
                        let path = placements.field(gang);
                        let path = path.field(name);
                        let message = format!("two that must be apart share one {}", term.level);
                        found.add(Rule::CompanyUnwanted, &path.item(at), message);
                    }
                }
            } else if let Some((gang, at)) = one.placed {
                let alone = !others().any(|that| is_near(&that));
                let first =
                    value.is_some() && others().next().is_none() && carries(&one.labels, &term.match_labels);
                if alone && !first {
                    let path = placements.field(gang);
                    let path = path.field(&role.name);
                    let message = format!("nobody that it must be near to is in its {}", term.level);
                    found.add(Rule::CompanyMissing, &path.item(at), message);
                }
            }
        }
    }
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
        all.push(Present { node, labels, role: member.map(|(_, role)| role), placed: None });
    }
    for placed in cluster.placed(plan) {
        all.push(Present {
            node: placed.node,
            labels: labels(placed.gang, placed.role),
            role: Some(placed.role),
            placed: Some((&placed.gang.name, placed.index)),
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
