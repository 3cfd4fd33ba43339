//! Every waiting gang is answered once, placed whole, and nothing else is named.

use super::{Violations, cluster::Cluster};
use crate::document::{Gang, Path, Plan, Rule};

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    names(cluster, plan, found);
    for gang in &cluster.snapshot.gangs {
        let placements = Path::Root.field("placements");
        let path = placements.field(&gang.name);
        let placed = plan.placements.contains_key(&gang.name);
        let refused = plan.rejections.contains_key(&gang.name);
        match (cluster.waits(gang), placed, refused) {
            (true, false, false) => {
                found.add(Rule::GangUnanswered, &path, "waits, and is neither placed nor refused");
            }
            (true, true, true) => found.add(Rule::GangUnanswered, &path, "is placed and refused"),
            (false, true, _) => {
                found.add(Rule::GangUnanswered, &path, "does not wait: all its replicas hold a place");
            }
            (false, false, true) => {
                let rejections = Path::Root.field("rejections");
                let path = rejections.field(&gang.name);
                found.add(Rule::GangUnanswered, &path, "does not wait: all its replicas hold a place");
            }
            (true, true, false) => complete(cluster, gang, plan, &path, found),
            (true, false, true) | (false, false, false) => {}
        }
    }
}

/// No more replicas than wait, role by role, and at least one in all.
fn complete(cluster: &Cluster<'_>, gang: &Gang, plan: &Plan, path: &Path<'_>, found: &mut Violations) {
    if plan.placements[&gang.name].values().all(Vec::is_empty) {
        found.add(Rule::GangIncomplete, path, "no replica is placed");
    }
    for role in &gang.roles {
        let wanted = cluster.missing(gang, role);
        let placed = plan.placements[&gang.name].get(&role.name).map_or(0, Vec::len);
        if placed > wanted {
            let message = format!("{wanted} replicas wait, {placed} are placed");
            found.add(Rule::GangIncomplete, &path.field(&role.name), message);
        }
    }
}

fn names(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let mut unknown = |path: &Path<'_>, what: &str, name: &str| {
        found.add(Rule::PlanUnknownName, path, format!("there is no {what} '{name}'"));
    };
    let (placements, rejections) = (Path::Root.field("placements"), Path::Root.field("rejections"));
    for name in plan.rejections.keys().filter(|name| !cluster.gangs.contains_key(name.as_str())) {
        unknown(&rejections.field(name), "gang", name);
    }
    for (name, refused) in &plan.rejections {
        let path = rejections.field(name);
        if !Rule::ALL.iter().any(|rule| rule.code() == refused.rule) {
            unknown(&path.field("rule"), "rule", &refused.rule);
        }
        for (index, change) in refused.changes.iter().enumerate() {
            if let Some(gang) = change.gang.as_ref().filter(|gang| !cluster.gangs.contains_key(gang.as_str()))
            {
                unknown(&path.field("changes").item(index).field("gang"), "gang", gang);
            }
        }
    }
    let earmarks = Path::Root.field("earmarks");
    for (name, earmark) in &plan.earmarks {
        let path = earmarks.field(name);
        if !cluster.gangs.contains_key(name.as_str()) {
            unknown(&path, "gang", name);
        }
        for (index, node) in earmark.nodes.iter().enumerate() {
            if !cluster.nodes.contains_key(node.as_str()) {
                unknown(&path.field("nodes").item(index), "node", node);
            }
        }
    }
    for (name, roles) in &plan.placements {
        let path = placements.field(name);
        let Some(gang) = cluster.gangs.get(name.as_str()) else {
            unknown(&path, "gang", name);
            continue;
        };
        for (name, nodes) in roles {
            let path = path.field(name);
            if !gang.roles.iter().any(|role| role.name == *name) {
                unknown(&path, "role", name);
            }
            for (index, node) in nodes.iter().enumerate() {
                if !cluster.nodes.contains_key(node.as_str()) {
                    unknown(&path.item(index), "node", node);
                }
            }
        }
    }
}
