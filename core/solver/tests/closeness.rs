//! Levels that are preferred or relaxed, and evenness.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;
mod trial;

use clusters::{Tape, gang, node, plan_for, require, role, seeded_bytes, texts};
use gangplan_solver::check;
use gangplan_solver::document::{Change, ChangeKind, Closeness, Gang, Group, Node, Snapshot};
use trial::apply;

fn machine(name: &str, zone: &str, rack: &str, cpus: u8) -> Node {
    let mut node = node(name, &[("cpu", cpus)]);
    node.labels = texts(&[("zone", zone), ("rack", rack)]);
    node
}

fn zones(nodes: Vec<Node>, gangs: Vec<Gang>) -> Snapshot {
    Snapshot { topology: vec!["zone".to_owned(), "rack".to_owned()], nodes, gangs, ..Snapshot::default() }
}

fn levels_offered(snapshot: &Snapshot) -> Vec<Change> {
    let mut rejection = plan_for(snapshot).rejections["g"].clone();
    rejection.changes.retain(|change| change.kind == ChangeKind::Level);
    rejection.changes
}

#[test]
fn the_level_of_a_group_and_of_a_role_is_relaxed_as_little_as_does() {
    // A rack has two cores, a zone four, and all together eight.
    let racks = ["r0", "r1"].map(|rack| ["z0", "z1"].map(|zone| (zone, rack)));
    let nodes: Vec<Node> =
        racks.iter().flatten().map(|(zone, rack)| machine(&format!("{zone}{rack}"), zone, rack, 2)).collect();
    for (replicas, level, texts) in [
        (
            3,
            "zone",
            [
                "require one zone for group all instead of one rack",
                "require one zone for role a instead of one rack",
            ],
        ),
        (
            5,
            "cluster",
            [
                "prefer one rack for group all instead of requiring it",
                "prefer one rack for role a instead of requiring it",
            ],
        ),
    ] {
        for (of_group, text) in [(true, texts[0]), (false, texts[1])] {
            let mut waiting = gang("g", vec![role("a", replicas, &[("cpu", 1)])]);
            if of_group {
                let topology = Some(require("rack"));
                let roles = vec!["a".to_owned()];
                waiting.groups.push(Group { name: "all".to_owned(), roles, topology, ..Group::default() });
            } else {
                waiting.roles[0].topology = Some(require("rack"));
            }
            let mut snapshot = zones(nodes.clone(), vec![waiting]);
            let offered = levels_offered(&snapshot);
            assert_eq!(offered.len(), 1, "{offered:?}");
            assert_eq!((offered[0].to.as_deref(), offered[0].text.as_str()), (Some(level), text));
            apply(&mut snapshot, "g", &offered[0]);
            assert!(plan_for(&snapshot).placements.contains_key("g"));
        }
    }
}

#[test]
fn a_preferred_level_that_is_no_finer_than_the_required_one_asks_for_nothing_more() {
    let nodes =
        vec![machine("n1", "z0", "r0", 2), machine("n2", "z0", "r1", 3), machine("n3", "z1", "r0", 4)];
    for slices in [false, true] {
        let mut tied = gang("g", vec![role("a", 3, &[("cpu", 1)])]);
        let mut asked = require("rack");
        if slices {
            // A matter of the search that knows rules.
            asked.spread.push(gangplan_solver::document::Spread { level: "zone".to_owned(), most: 3 });
        }
        tied.topology = Some(asked);
        let mut snapshot = zones(nodes.clone(), vec![tied]);
        let without = plan_for(&snapshot);
        snapshot.gangs[0].topology.as_mut().unwrap().preferred = Some("zone".to_owned());
        let with = plan_for(&snapshot);
        assert_eq!(with.placements, without.placements);
        assert!(with.placements.contains_key("g"));
    }
}

/// The smallest and the largest count on a node that is used, of every way to hold all replicas.
fn ways(room: &[u8], replicas: u8) -> Vec<(u8, u8)> {
    let Some((first, rest)) = room.split_first() else {
        return if replicas == 0 { vec![(u8::MAX, 0)] } else { Vec::new() };
    };
    let with = |here: u8| {
        let least = if here > 0 { here } else { u8::MAX };
        ways(rest, replicas - here).into_iter().map(move |way| (way.0.min(least), way.1.max(here)))
    };
    (0..=replicas.min(*first)).flat_map(with).collect()
}

#[test]
fn a_balanced_gang_in_one_rack_is_even_over_the_nodes_there() {
    let mut several = 0;
    for seed in 0..300 {
        let bytes = seeded_bytes(seed, 20);
        let mut tape = Tape::new(&bytes);
        let room: Vec<u8> = (0..tape.range(1, 5)).map(|_| tape.range(1, 6)).collect();
        let replicas = tape.range(1, 9);
        let evenest = ways(&room, replicas).into_iter().max_by_key(|way| (way.0, std::cmp::Reverse(way.1)));
        let Some((least, most)) = evenest else { continue };
        let nodes = room
            .iter()
            .zip(0..)
            .map(|(cpus, index)| machine(&format!("n{index}"), "z", "r", *cpus))
            .collect();
        let mut even = gang("g", vec![role("a", i64::from(replicas), &[("cpu", 1)])]);
        even.topology =
            Some(Closeness { preferred: Some("rack".to_owned()), balanced: true, ..Closeness::default() });
        let snapshot = zones(nodes, vec![even]);
        let plan = plan_for(&snapshot);
        assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
        let placed = &plan.placements["g"]["a"];
        let counts: Vec<usize> = placed.chunk_by(|a, b| a == b).map(<[String]>::len).collect();
        let found = (counts.iter().min().copied().unwrap(), counts.iter().max().copied().unwrap());
        assert_eq!(found, (usize::from(least), usize::from(most)), "{room:?} {counts:?}");
        several += usize::from(counts.len() > 1);
    }
    assert!(several > 50, "{several}");
}
