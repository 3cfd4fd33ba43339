//! Gangs that can do with fewer replicas than they ask for.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use std::sync::atomic::AtomicBool;

use clusters::{Tape, gang, member, node, plan_for, queue, require, role, seeded_bytes, texts};
use gangplan_solver::document::{Bypass, ChangeKind, Closeness, Gang, Node, Slice, Snapshot, SolveOptions};
use gangplan_solver::{check, solve};

fn machine(index: u8, rack: u8, cpus: u8) -> Node {
    let mut node = node(&format!("n{index}"), &[("cpu", cpus)]);
    node.labels = texts(&[("rack", if rack == 0 { "r0" } else { "r1" })]);
    node
}

fn racks(nodes: Vec<Node>, gangs: Vec<Gang>) -> Snapshot {
    Snapshot { topology: vec!["rack".to_owned()], nodes, gangs, ..Snapshot::default() }
}

#[test]
fn a_gang_that_waits_alone_grows_as_far_as_there_is_room_in_few_steps() {
    let nodes = (0..100).map(|index| machine(index, 0, 40)).collect();
    let mut grows = gang("g", vec![role("a", 3000, &[("cpu", 3)])]);
    grows.roles[0].min = Some(1);
    let mut snapshot = racks(nodes, vec![grows]);
    let plan = plan_for(&snapshot);
    assert_eq!(plan.placements["g"]["a"].len(), 100 * (40 / 3));
    assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
    assert!(plan.stats.trials < 200, "{:?}", plan.stats);
    // A limit ends it sooner.
    snapshot.queues.push(queue("q", None, &[("cpu", 100)]));
    snapshot.gangs[0].queue = Some("q".to_owned());
    assert_eq!(plan_for(&snapshot).placements["g"]["a"].len(), 33);
}

#[test]
fn growth_fills_the_required_domain_and_no_other() {
    for seed in 0..200 {
        let bytes = seeded_bytes(seed, 30);
        let mut tape = Tape::new(&bytes);
        let nodes: Vec<Node> = (0..6).map(|index| machine(index, index / 3, tape.range(1, 9))).collect();
        let room = |rack: &str| -> i64 {
            let inside = nodes.iter().filter(|node| node.labels["rack"] == rack);
            inside.map(|node| node.allocatable["cpu"].parse::<i64>().unwrap() / 2).sum()
        };
        let mut grows = gang("g", vec![role("a", 20, &[("cpu", 2)])]);
        grows.roles[0].min = Some(i64::from(tape.range(1, 5)));
        grows.topology = Some(require("rack"));
        let snapshot = racks(nodes.clone(), vec![grows.clone()]);
        let plan = plan_for(&snapshot);
        assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
        let placed = plan.placements.get("g").map_or(0, |roles| i64::try_from(roles["a"].len()).unwrap());
        if placed == 0 {
            assert!(room("r0").max(room("r1")) < grows.roles[0].min.unwrap());
        } else {
            assert!(
                [room("r0"), room("r1")].contains(&placed),
                "{placed} of {} and {}",
                room("r0"),
                room("r1")
            );
        }
    }
}

#[test]
fn a_refusal_offers_the_largest_minimum_that_fits_and_proves_the_other() {
    let nodes = (0..3).map(|index| machine(index, 0, 5)).collect();
    let mut grows = gang("g", vec![role("worker", 12, &[("cpu", 2)]), role("b", 1, &[("cpu", 1)])]);
    grows.roles[1].min = Some(1);
    let mut snapshot = racks(nodes, vec![grows]);
    for (min, min_member, text) in [
        (Some(7), None, "6 workers instead of at least 7"),
        (None, Some(9), "10 workers instead of 12, min_member 7 instead of 9"),
    ] {
        snapshot.gangs[0].roles[0].min = min;
        snapshot.gangs[0].min_member = min_member;
        let plan = plan_for(&snapshot);
        let rejection = &plan.rejections["g"];
        let fewer: Vec<_> =
            rejection.changes.iter().filter(|change| change.kind == ChangeKind::Replicas).collect();
        assert_eq!(fewer.len(), 1, "{:?}", rejection.changes);
        assert_eq!(fewer[0].text, text);
        assert_eq!(rejection.certificates.len(), 1, "{rejection:?}");
        assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
        let mut wrong = plan.clone();
        wrong.rejections.get_mut("g").unwrap().certificates[0].needs += 1;
        assert_eq!(check(&snapshot, &wrong).unwrap()[0].rule, "CERTIFICATE_WRONG");
    }
}

#[test]
fn behind_a_gang_that_cannot_start_one_that_could_grow_in_any_way_waits_for_it() {
    let head = gang("a-head", vec![role("a", 1, &[("cpu", 9)])]);
    let mut behind = gang("behind", vec![role("a", 1, &[("cpu", 4)]), role("b", 1, &[("cpu", 1)])]);
    behind.min_member = Some(0);
    let options = SolveOptions { bypass: Bypass::None, ..SolveOptions::default() };
    let rule_on = |cpus: u8| {
        let snapshot = racks(vec![machine(0, 0, cpus)], vec![head.clone(), behind.clone()]);
        let plan = solve(&snapshot, &options, &AtomicBool::new(false)).unwrap();
        plan.rejections["behind"].rule.clone()
    };
    assert_eq!(rule_on(1), "QUEUE_HEAD_WAITS");
    assert_eq!(rule_on(0), "CAPACITY_INSUFFICIENT");
}

/// A role that could not grow while the slices of another were broken grows once they are whole.
#[test]
fn a_role_grows_once_what_was_in_its_way_is_mended() {
    let mut gang = gang("g", vec![role("worker", 3, &[("cpu", 1)]), role("ps", 2, &[("cpu", 1)])]);
    gang.roles[0].priority = 1;
    gang.min_member = Some(1);
    gang.roles[1].topology =
        Some(Closeness { slices: vec![Slice { level: "rack".to_owned(), size: 2 }], ..Closeness::default() });
    let mut snapshot = racks(vec![machine(0, 0, 8)], vec![gang]);
    snapshot.running.push(member("g", "ps", 0, &snapshot.nodes[0].name.clone()));
    let plan = plan_for(&snapshot);
    let placed: Vec<(&str, usize)> =
        plan.placements["g"].iter().map(|(role, nodes)| (role.as_str(), nodes.len())).collect();
    assert_eq!(placed, [("ps", 1), ("worker", 3)]);
}
