//! Gangs that may have many counts, where the tables of all counts are too large: what can be placed is placed.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use std::sync::atomic::AtomicBool;

use clusters::{gang, node, role};
use gangplan_solver::document::{Gang, Snapshot, SolveOptions};
use gangplan_solver::{check, solve};

fn elastic(replicas: &[i64], min_member: i64) -> Gang {
    let roles = replicas.iter().enumerate();
    let mut gang =
        gang("g", roles.map(|(index, count)| role(&format!("r{index}"), *count, &[("gpu", 1)])).collect());
    gang.min_member = Some(min_member);
    gang
}

fn nodes(count: usize) -> Snapshot {
    let nodes = (0..count).map(|index| {
        let mut node = node(&format!("n{index:03}"), &[("gpu", 8)]);
        node.labels.insert("rack".to_owned(), format!("r{}", index / 16));
        node
    });
    Snapshot { nodes: nodes.collect(), ..Snapshot::default() }
}

/// An unused level, more nodes, more replicas: none of that is a reason to refuse what has room.
#[test]
fn an_elastic_gang_with_room_for_all_of_it_is_placed_whole_whatever_the_counts() {
    let shapes: [(&[i64], i64); 9] = [
        (&[9; 6], 10),
        (&[60; 3], 10),
        (&[100; 3], 10),
        (&[200; 3], 10),
        (&[10; 8], 10),
        (&[1000; 2], 10),
        (&[64, 1000, 1], 100),
        (&[64, 800, 1], 800),
        (&[16, 2000, 1], 500),
    ];
    for (replicas, min_member) in shapes {
        let all: i64 = replicas.iter().sum();
        for topology in [vec![], vec!["rack".to_owned()]] {
            for spare in [0, 50] {
                let mut snapshot = nodes(usize::try_from(all).unwrap().div_ceil(8) + spare);
                snapshot.topology.clone_from(&topology);
                snapshot.gangs.push(elastic(replicas, min_member));
                let plan = solve(&snapshot, &SolveOptions::default(), &AtomicBool::new(false)).unwrap();
                assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
                let placed: usize =
                    plan.placements.get("g").map_or(0, |roles| roles.values().map(Vec::len).sum());
                assert_eq!(
                    placed,
                    usize::try_from(all).unwrap(),
                    "{replicas:?} {min_member} {topology:?} {spare}"
                );
            }
        }
    }
}

/// The first role by name may be the one that has no room.
#[test]
fn the_fewest_are_of_a_role_that_has_room() {
    let mut snapshot = nodes(30);
    let mut gang = elastic(&[200, 200, 200], 100);
    gang.roles[0].requests.insert("fpga".to_owned(), "1".to_owned());
    gang.roles[1].requests.insert("fpga".to_owned(), "1".to_owned());
    snapshot.gangs.push(gang);
    let plan = solve(&snapshot, &SolveOptions::default(), &AtomicBool::new(false)).unwrap();
    assert_eq!(plan.placements["g"]["r2"].len(), 200);
}
