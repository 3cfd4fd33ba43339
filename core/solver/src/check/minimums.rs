//! A gang has no replicas, or its minimums: of its own, of its roles and of its groups.

use std::collections::{BTreeMap, BTreeSet};

use super::Violations;
use super::cluster::{Cluster, groups_of};
use crate::document::{Gang, Group, Path, Plan, Rule};

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let placements = Path::Root.field("placements");
    for name in plan.placements.keys() {
        let Some(gang) = cluster.gangs.get(name.as_str()) else { continue };
        let path = placements.field(name);
        let mut totals: BTreeMap<&str, i64> = BTreeMap::new();
        for role in &gang.roles {
            let placed = plan.placements[name].get(&role.name).map_or(0, Vec::len);
            let total = placed + cluster.running(gang, role).len();
            totals.insert(&role.name, i64::try_from(total).unwrap_or(i64::MAX));
        }
        minimum(gang, &totals, &path, found);
    }
}

/// A gang that has any replica has its minimums.
fn minimum(gang: &Gang, totals: &BTreeMap<&str, i64>, path: &Path<'_>, found: &mut Violations) {
    let all: i64 = totals.values().sum();
    if all == 0 {
        return;
    }
    if let Some(min) = gang.min_member.filter(|min| all < *min) {
        let message = format!("at least {min} replicas must hold a place, {all} would");
        found.add(Rule::GangIncomplete, path, message);
    }
    for role in &gang.roles {
        let elastic = gang.min_member.is_some() || !gang.min_groups.is_empty();
        let min = role.min.unwrap_or(if elastic { 0 } else { role.replicas });
        let total = totals[role.name.as_str()];
        if total < min {
            let message = format!("at least {min} replicas must hold a place, {total} would");
            found.add(Rule::GangIncomplete, &path.field(&role.name), message);
        }
    }
    groups(gang, totals, path, found);
}

/// Whether a gang could begin with a replica of `role` and without what was taken from `totals`; groups that are below
/// their minimum begin later.
pub(super) fn may_begin<'a>(gang: &'a Gang, mut totals: BTreeMap<&'a str, i64>, role: &str) -> bool {
    while !gang.min_groups.is_empty() {
        let total = |group: &Group| members(gang, group).iter().map(|role| totals[role]).sum::<i64>();
        let short = |group: &&Group| (1..group.min.unwrap_or(0)).contains(&total(group));
        let Some(group) = gang.groups.iter().find(short) else { break };
        totals.extend(members(gang, group).into_iter().map(|role| (role, 0)));
    }
    let mut found = Violations::default();
    minimum(gang, &totals, &Path::Root, &mut found);
    totals[role] > 0 && found.list.is_empty()
}

fn groups(gang: &Gang, totals: &BTreeMap<&str, i64>, path: &Path<'_>, found: &mut Violations) {
    let mut complete: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for group in &gang.groups {
        let total: i64 = members(gang, group).iter().map(|role| totals[role]).sum();
        let min = group.min.unwrap_or(0);
        if total < min && (total > 0 || gang.min_groups.is_empty()) {
            let message =
                format!("at least {min} replicas of group {} must hold a place, {total} would", group.name);
            found.add(Rule::GroupIncomplete, path, message);
        } else if let (Some(set), true) = (&group.set, total > 0) {
            complete.entry(set).or_default().insert(&group.name);
        }
    }
    for (set, min) in &gang.min_groups {
        let have = complete.get(set.as_str()).map_or(0, BTreeSet::len);
        if i64::try_from(have).unwrap_or(i64::MAX) < *min {
            let message = format!("at least {min} groups of set {set} must be complete, {have} would be");
            found.add(Rule::GroupIncomplete, path, message);
        }
    }
}

/// The roles of a group and of those below it.
pub(super) fn members<'a>(gang: &'a Gang, group: &Group) -> Vec<&'a str> {
    gang.roles
        .iter()
        .filter(|role| groups_of(gang, role).iter().any(|above| above.name == group.name))
        .map(|role| role.name.as_str())
        .collect()
}
