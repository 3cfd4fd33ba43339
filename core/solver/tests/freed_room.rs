//! A `free` change says how much must be freed in a domain: so much does, on some of its nodes, and less does nowhere.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;
mod trial;

use clusters::{plan_for, seeded_bytes, snapshot};
use gangplan_solver::document::{ChangeKind, Running, Snapshot, format_quantity};
use trial::{amount, as_things_stand, lies_in};

/// More ways to free an amount than this are not tried.
const MOST_WAYS: usize = 60;

/// What a replica or pod takes of a resource.
fn takes(snapshot: &Snapshot, held: &Running, resource: &str) -> i64 {
    if resource == "pods" {
        return 1;
    }
    let role = snapshot
        .gangs
        .iter()
        .filter(|gang| held.gang.as_ref() == Some(&gang.name))
        .find_map(|gang| gang.roles.iter().find(|role| held.role.as_ref() == Some(&role.name)));
    let requests = role.map_or(&held.requests, |role| &role.requests);
    requests.get(resource).map_or(0, |text| amount(resource, text))
}

/// All ways to free `left` units on the nodes from a position on, of which each holds so many.
fn ways(held: &[i64], left: i64, found: &mut Vec<Vec<i64>>, way: &mut Vec<i64>) {
    if found.len() > MOST_WAYS {
        return;
    }
    if way.len() == held.len() {
        if left == 0 {
            found.push(way.clone());
        }
        return;
    }
    for part in (0..=held[way.len()].min(left)).rev() {
        way.push(part);
        ways(held, left - part, found, way);
        way.pop();
    }
}

#[test]
fn what_is_to_be_freed_admits_the_gang_on_some_nodes_of_the_domain_and_less_on_none() {
    let mut judged = 0;
    for seed in 0..3000 {
        let snapshot = snapshot(&seeded_bytes(seed, 260));
        let plan = plan_for(&snapshot);
        for (name, rejection) in &plan.rejections {
            let Some(change) = rejection.changes.iter().find(|change| change.kind == ChangeKind::Free) else {
                continue;
            };
            let resource = change.resource.as_deref().unwrap();
            let unit = if resource == "cpu" { 1000 } else { 1 };
            let wanted = amount(resource, change.amount.as_ref().unwrap());
            let stands = as_things_stand(&snapshot, &plan, name);
            let inside: Vec<usize> = (0..stands.nodes.len())
                .filter(|node| lies_in(&stands.nodes[*node], change.at.as_ref().unwrap()))
                .collect();
            let held: Vec<i64> = inside
                .iter()
                .map(|node| {
                    let there = stands.running.iter().filter(|held| held.node == stands.nodes[*node].name);
                    there.map(|held| takes(&stands, held, resource)).sum::<i64>() / unit
                })
                .collect();
            let placed = |way: &Vec<i64>| {
                let mut freed = stands.clone();
                for (node, part) in inside.iter().zip(way) {
                    if let Some(offer) = freed.nodes[*node].allocatable.get_mut(resource) {
                        *offer = format_quantity(resource, amount(resource, offer) + part * unit);
                    }
                }
                plan_for(&freed).placements.contains_key(name)
            };
            let (mut enough, mut less) = (Vec::new(), Vec::new());
            ways(&held, wanted / unit, &mut enough, &mut Vec::new());
            ways(&held, wanted / unit - 1, &mut less, &mut Vec::new());
            assert_eq!(wanted % unit, 0, "seed {seed}: {}", change.text);
            if enough.len() > MOST_WAYS || less.len() > MOST_WAYS {
                continue;
            }
            judged += 1;
            assert!(enough.iter().any(placed), "seed {seed}: {name}: {}", change.text);
            assert!(!less.iter().any(placed), "seed {seed}: {name}: less will do than to {}", change.text);
        }
    }
    assert!(judged > 100, "{judged} changes say little");
}
