//! Groups of a gang: a tree over its roles.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, closeness, cycle_from};
use crate::document::{Gang, Group, Path};
use crate::error::ProblemCode;

pub(super) fn groups(gang: &Gang, topology: &[String], path: &Path<'_>, findings: &mut Findings) {
    let (list, sets) = (path.field("groups"), path.field("min_groups"));
    let roles: BTreeSet<&str> = gang.roles.iter().map(|role| role.name.as_str()).collect();
    let mut names = BTreeSet::new();
    for (index, group) in gang.groups.iter().enumerate() {
        let path = list.item(index);
        if let Some(min @ ..0) = group.min {
            let message = format!("must be at least 0, not {min}");
            findings.report(&path.field("min"), ProblemCode::OutOfRange, message);
        }
        findings.name(&group.name, &mut names, "group", &path.field("name"));
        members(group, &roles, &path.field("roles"), findings);
        closeness::closeness(group.topology.as_ref(), topology, &path.field("topology"), findings);
        if group.set.as_deref() == Some("") {
            findings.report(&path.field("set"), ProblemCode::BadValue, "must not be empty");
        }
    }
    let parents: BTreeMap<&str, &str> = gang
        .groups
        .iter()
        .filter_map(|group| Some((group.name.as_str(), group.parent.as_deref()?)))
        .collect();
    let mut circle = false;
    for (index, group) in gang.groups.iter().enumerate() {
        let path = list.item(index);
        let path = path.field("parent");
        if let Some(parent) = &group.parent {
            findings.reference(parent, &names, "group", &path);
        }
        if let Some(cycle) = cycle_from(&group.name, &parents) {
            findings.report(&path, ProblemCode::Cycle, format!("groups in a circle: {}", cycle.join(" → ")));
            circle = true;
        }
    }
    minimums(gang, &sets, findings);
    if !circle {
        tree(gang, &parents, &list, findings);
    }
}

fn members(group: &Group, roles: &BTreeSet<&str>, path: &Path<'_>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (index, role) in group.roles.iter().enumerate() {
        let path = path.item(index);
        findings.reference(role, roles, "role", &path);
        if !seen.insert(role) {
            findings.report(
                &path,
                ProblemCode::DuplicateName,
                format!("the role '{role}' stands here twice"),
            );
        }
    }
}

/// Sets that `min_groups` names are there, with as many groups.
fn minimums(gang: &Gang, path: &Path<'_>, findings: &mut Findings) {
    let mut sizes: BTreeMap<&str, i64> = BTreeMap::new();
    for set in gang.groups.iter().filter_map(|group| group.set.as_deref()) {
        *sizes.entry(set).or_default() += 1;
    }
    let known: BTreeSet<&str> = sizes.keys().copied().collect();
    for (set, count) in &gang.min_groups {
        let path = path.field(set);
        findings.reference(set, &known, "set of groups", &path);
        if let Some(size) = sizes.get(set.as_str())
            && !(0..=*size).contains(count)
        {
            let message = format!("must be from 0 to {size}, the groups of the set, not {count}");
            findings.report(&path, ProblemCode::OutOfRange, message);
        }
    }
}

/// A role stands in one branch of the tree.
fn tree(gang: &Gang, parents: &BTreeMap<&str, &str>, list: &Path<'_>, findings: &mut Findings) {
    let is_above = |above: &str, group: &str| {
        let mut at = group;
        while let Some(parent) = parents.get(at) {
            if *parent == above {
                return true;
            }
            at = parent;
        }
        false
    };
    for (index, group) in gang.groups.iter().enumerate() {
        let path = list.item(index);
        for (other, role) in gang.groups[..index]
            .iter()
            .flat_map(|other| other.roles.iter().map(move |role| (other, role)))
            .filter(|(_, role)| group.roles.contains(role))
        {
            if other.name != group.name
                && !is_above(&other.name, &group.name)
                && !is_above(&group.name, &other.name)
            {
                let message = format!("the role '{role}' is in the group '{}' too", other.name);
                findings.report(&path.field("roles"), ProblemCode::Contradiction, message);
            }
        }
    }
}
