//! What a refusal says, and what it offers.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use std::sync::atomic::AtomicBool;

use clusters::{amounts, gang, member, node, plan_for, pod, queue, require, role, texts};
use gangplan_solver::document::{
    Gang, NamespaceQuota, Node, Plan, Rejection, Snapshot, SolveOptions, Stage, StoppedBy,
};
use gangplan_solver::{Error, solve};

fn machine(name: &str, rack: &str, gpus: u8) -> Node {
    let mut node = node(name, &[("cpu", 16), ("nvidia.com/gpu", gpus)]);
    node.labels = texts(&[("rack", rack)]);
    node
}

fn job(name: &str, workers: i64) -> Gang {
    let ps = role("ps", 1, &[("cpu", 1)]);
    gang(name, vec![ps, role("worker", workers, &[("cpu", 1), ("nvidia.com/gpu", 1)])])
}

fn racks(nodes: Vec<Node>, gangs: Vec<Gang>) -> Snapshot {
    Snapshot { topology: vec!["rack".to_owned()], nodes, gangs, ..Snapshot::default() }
}

fn texts_of(rejection: &Rejection) -> Vec<&str> {
    rejection.changes.iter().map(|change| change.text.as_str()).collect()
}

fn numbers(rejection: &Rejection) -> [Option<&str>; 4] {
    [&rejection.resource, &rejection.needs, &rejection.has, &rejection.at].map(Option::as_deref)
}

#[test]
fn two_jobs_that_fit_one_at_a_time_do_not_block_each_other() {
    let nodes = vec![machine("n1", "r1", 2), machine("n2", "r1", 2)];
    let plan = plan_for(&racks(nodes, vec![job("first", 4), job("second", 4)]));
    assert!(plan.placements.contains_key("first"));
    let rejection = &plan.rejections["second"];
    assert_eq!(rejection.message, "needs 4 nvidia.com/gpu; the nodes that it may use have 0 free");
    assert_eq!((rejection.position, rejection.impossible), (1, false));
    assert_eq!(
        texts_of(rejection),
        ["wait until first has ended", "free 4 nvidia.com/gpu", "add 2 nodes like n1"]
    );
    let holder = &rejection.holders[0];
    assert_eq!((holder.name.as_str(), holder.amount.as_str(), holder.reserved), ("first", "4", true));
}

#[test]
fn what_can_never_fit_is_told_what_there_is_in_all_and_what_would_let_it_fit() {
    let mut snapshot = racks(vec![machine("n1", "r1", 4), machine("n2", "r1", 4)], vec![]);
    snapshot.gangs.push(gang("thick", vec![role("worker", 2, &[("nvidia.com/gpu", 5)])]));
    snapshot.gangs.push(gang("many", vec![role("worker", 9, &[("nvidia.com/gpu", 1)])]));
    snapshot.gangs.push(gang("pieces", vec![role("worker", 2, &[("cpu", 10), ("nvidia.com/gpu", 4)])]));
    snapshot.gangs[2].roles.push(role("ps", 1, &[("cpu", 10)]));
    for (node, name) in [("n1", "a"), ("n2", "b")] {
        snapshot.running.push(pod(name, node, &[("nvidia.com/gpu", 4)]));
    }
    let plan = plan_for(&snapshot);
    let told = |name: &str| (plan.rejections[name].message.as_str(), texts_of(&plan.rejections[name]));
    assert_eq!(
        told("thick"),
        (
            "needs 10 nvidia.com/gpu; the nodes that it may use have 8 in all, 0 free",
            vec!["request 4 nvidia.com/gpu for each worker instead of 5"]
        )
    );
    assert_eq!(
        told("many"),
        (
            "needs 9 nvidia.com/gpu; the nodes that it may use have 8 in all, 0 free",
            vec!["add 3 nodes like n1", "8 workers instead of 9"]
        )
    );
    assert_eq!(
        plan.rejections["pieces"].message,
        "needs 8 nvidia.com/gpu; the nodes that it may use have 8 in all, 0 free; if nothing ran: there is enough in \
         sum, but not in pieces that hold its replicas"
    );
    assert!(plan.rejections.values().all(|rejection| rejection.impossible));
    let alone: Vec<bool> = plan.rejections["many"].changes.iter().map(|change| change.alone).collect();
    assert_eq!(alone, [false, true]);
}

#[test]
fn what_a_namespace_can_never_allow_is_impossible_and_what_it_has_given_away_is_not() {
    let quota = |hard, used| NamespaceQuota {
        namespace: String::new(),
        hard: amounts(&[("nvidia.com/gpu", hard)]),
        used: amounts(&[("nvidia.com/gpu", used)]),
    };
    for (hard, used, impossible) in [(3, 0, true), (4, 2, false)] {
        let mut snapshot = racks(vec![machine("n1", "r1", 8)], vec![job("a", 4)]);
        snapshot.quotas.push(quota(hard, used));
        let rejection = &plan_for(&snapshot).rejections["a"];
        assert_eq!((rejection.rule.as_str(), rejection.impossible), ("NAMESPACE_QUOTA_EXCEEDED", impossible));
    }
}

#[test]
fn a_gang_goes_where_its_replicas_are_together() {
    let nodes = vec![machine("n1", "r1", 2), machine("n2", "r1", 2), machine("n3", "r2", 4)];
    let plan = plan_for(&racks(nodes, vec![job("a", 4), job("b", 2)]));
    assert_eq!(plan.placements["a"]["worker"], ["n3"; 4]);
    assert_eq!(plan.placements["b"]["worker"], ["n1"; 2]);
    assert_eq!((plan.traffic["a"], plan.traffic["b"]), (0, 0));
}

#[test]
fn the_best_domain_is_named_when_the_required_level_is_too_small() {
    let nodes = vec![machine("n1", "r1", 1), machine("n2", "r7", 2), machine("n3", "r8", 2)];
    let mut big = job("big", 4);
    big.topology = Some(require("rack"));
    let plan = plan_for(&racks(nodes, vec![big]));
    let rejection = &plan.rejections["big"];
    assert_eq!((rejection.stage, rejection.rule.as_str()), (Stage::Topology, "TOPOLOGY_TOO_SMALL"));
    assert_eq!(rejection.message, "needs 4 nvidia.com/gpu in one rack; the best rack, r7, has 2 in all");
    assert_eq!(numbers(rejection), [Some("nvidia.com/gpu"), Some("4"), Some("2"), Some("r7")]);
    assert_eq!(
        texts_of(rejection),
        ["2 workers instead of 4", "prefer one rack instead of requiring it", "add 1 node like n2"]
    );
    assert!(rejection.impossible);
    let have: Vec<(&str, &str, i64)> = rejection
        .levels
        .iter()
        .map(|level| (level.level.as_str(), level.domain.as_str(), level.have["worker"]))
        .collect();
    assert_eq!(have, [("node", "n2", 2), ("rack", "r7", 2), ("cluster", "", 4)]);
    assert_eq!(rejection.levels[1].limited_by.as_deref(), Some("nvidia.com/gpu"));
}

#[test]
fn pieces_that_are_too_small_are_told_from_sums_that_are() {
    let mut snapshot = racks(vec![machine("n1", "r1", 3), machine("n2", "r1", 3)], vec![]);
    snapshot.gangs.push(gang("wide", vec![role("worker", 2, &[("nvidia.com/gpu", 2)])]));
    snapshot.gangs.push(gang("wider", vec![role("worker", 3, &[("nvidia.com/gpu", 2)])]));
    snapshot.gangs[0].created = 1;
    let plan = plan_for(&snapshot);
    assert!(plan.placements.contains_key("wide"));
    let rejection = &plan.rejections["wider"];
    assert_eq!((rejection.stage, rejection.rule.as_str()), (Stage::Capacity, "CAPACITY_INSUFFICIENT"));
    snapshot.gangs.remove(0);
    let plan = plan_for(&snapshot);
    let rejection = &plan.rejections["wider"];
    assert_eq!((rejection.stage, rejection.rule.as_str()), (Stage::Packing, "PACKING_IMPOSSIBLE"));
    assert_eq!(numbers(rejection), [Some("nvidia.com/gpu"), Some("6"), Some("4"), Some("")]);
    assert_eq!(
        texts_of(rejection),
        [
            "2 workers instead of 3",
            "request 1 nvidia.com/gpu for each worker instead of 2",
            "add 1 node like n1"
        ]
    );
}

#[test]
fn the_largest_piece_is_told_where_not_one_replica_fits() {
    let nodes = (0..8).map(|index| machine(&format!("n{index}"), "r1", 1)).collect();
    let pair = gang("pair", vec![role("worker", 1, &[("nvidia.com/gpu", 2)])]);
    let plan = plan_for(&racks(nodes, vec![pair]));
    let rejection = &plan.rejections["pair"];
    assert_eq!(
        rejection.message,
        "needs 2 nvidia.com/gpu; enough is free in sum, but the largest piece is 1"
    );
    assert_eq!(numbers(rejection), [Some("nvidia.com/gpu"), Some("2"), Some("1"), Some("")]);
}

#[test]
fn a_node_that_shrank_below_its_use_has_nothing_free_and_the_debt_is_named() {
    let mut snapshot = racks(vec![machine("n1", "r1", 3)], vec![job("g", 1)]);
    snapshot.running.push(pod("other", "n1", &[("nvidia.com/gpu", 4)]));
    let plan = plan_for(&snapshot);
    let rejection = &plan.rejections["g"];
    assert_eq!(numbers(rejection), [Some("nvidia.com/gpu"), Some("1"), Some("0"), Some("")]);
}

#[test]
fn a_limit_counts_up_the_tree_and_the_smallest_that_admits_is_offered() {
    let mut snapshot = racks(vec![machine("n1", "r1", 8)], vec![job("g", 4)]);
    snapshot.queues = vec![queue("top", None, &[("nvidia.com/gpu", 6)]), queue("low", Some("top"), &[])];
    snapshot.gangs[0].queue = Some("low".to_owned());
    let mut other = pod("other", "n1", &[("nvidia.com/gpu", 3)]);
    other.queue = Some("top".to_owned());
    snapshot.running.push(other);
    let plan = plan_for(&snapshot);
    let rejection = &plan.rejections["g"];
    assert_eq!((rejection.stage, rejection.rule.as_str()), (Stage::Quota, "QUEUE_LIMIT_EXCEEDED"));
    assert_eq!(rejection.message, "needs 4 nvidia.com/gpu; queue top has 3 left of its limit of 6");
    assert_eq!(numbers(rejection), [Some("nvidia.com/gpu"), Some("4"), Some("3"), Some("top")]);
    assert_eq!(
        texts_of(rejection),
        ["3 workers instead of 4", "raise the limit of queue top for nvidia.com/gpu from 6 to 7"]
    );
    assert_eq!(rejection.holders[0].name, "other");
}

#[test]
fn a_closed_queue_above_refuses_and_no_change_of_the_gang_helps() {
    let mut snapshot = racks(vec![machine("n1", "r1", 8)], vec![job("g", 4)]);
    snapshot.queues = vec![queue("top", None, &[]), queue("low", Some("top"), &[])];
    snapshot.queues[0].open = false;
    snapshot.gangs[0].queue = Some("low".to_owned());
    let plan = plan_for(&snapshot);
    let rejection = &plan.rejections["g"];
    assert_eq!((rejection.rule.as_str(), rejection.at.as_deref()), ("QUEUE_CLOSED", Some("top")));
    assert!(!rejection.impossible && rejection.changes.is_empty());
}

#[test]
fn running_replicas_pin_the_required_domain() {
    let nodes = vec![machine("n1", "r1", 1), machine("n2", "r1", 1), machine("n3", "r2", 8)];
    let mut half = job("half", 2);
    half.topology = Some(require("rack"));
    let mut snapshot = racks(nodes, vec![half]);
    snapshot.running.push(member("half", "worker", 0, "n1"));
    let plan = plan_for(&snapshot);
    assert_eq!(plan.placements["half"]["worker"], ["n2"]);
    snapshot.running.push(member("half", "ps", 0, "n3"));
    let plan = plan_for(&snapshot);
    let rejection = &plan.rejections["half"];
    assert_eq!((rejection.stage, rejection.rule.as_str()), (Stage::Topology, "TOPOLOGY_SPLIT"));
    assert_eq!(texts_of(rejection), ["prefer one rack instead of requiring it"]);
}

#[test]
fn queue_priority_comes_before_gang_priority_before_age_before_name() {
    let mut snapshot = racks(vec![machine("n1", "r1", 1)], vec![]);
    snapshot.queues = vec![queue("urgent", None, &[])];
    snapshot.queues[0].priority = 1;
    for (name, queue, priority, created) in [
        ("d", None, 0, 1),
        ("c", None, 0, 0),
        ("b", None, 1, 5),
        ("a", Some("urgent"), 0, 9),
        ("e", None, 0, 1),
    ] {
        let mut gang = job(name, 1);
        gang.queue = queue.map(str::to_owned);
        (gang.priority, gang.created) = (priority, created);
        snapshot.gangs.push(gang);
    }
    let plan = plan_for(&snapshot);
    assert!(plan.placements.contains_key("a"));
    let positions: Vec<(&str, i64)> =
        plan.rejections.iter().map(|(name, rejection)| (name.as_str(), rejection.position)).collect();
    assert_eq!(positions, [("b", 1), ("c", 2), ("d", 3), ("e", 4)]);
}

#[test]
fn changes_are_left_out_on_request() {
    let options = SolveOptions { changes: false, ..SolveOptions::default() };
    let snapshot = racks(vec![machine("n1", "r1", 1)], vec![job("g", 2)]);
    let plan = solve(&snapshot, &options, &AtomicBool::new(false)).unwrap();
    assert!(plan.rejections["g"].changes.is_empty());
    assert!(!plan_for(&snapshot).rejections["g"].changes.is_empty());
}

#[test]
fn gangs_that_a_deadline_kept_from_their_turn_are_refused_without_proof() {
    let options = SolveOptions { deadline_s: Some(0), ..SolveOptions::default() };
    let snapshot = racks(vec![machine("n1", "r1", 4)], vec![job("g", 2)]);
    let plan: Plan = solve(&snapshot, &options, &AtomicBool::new(false)).unwrap();
    let rejection = &plan.rejections["g"];
    assert_eq!((rejection.rule.as_str(), rejection.proven), ("STOPPED", false));
    assert_eq!(plan.stats.stopped_by, Some(StoppedBy::Deadline));
}

#[test]
fn the_stop_flag_ends_the_solve() {
    let snapshot = racks(vec![machine("n1", "r1", 4)], vec![job("g", 2)]);
    let stopped = solve(&snapshot, &SolveOptions::default(), &AtomicBool::new(true));
    assert_eq!(stopped, Err(Error::Interrupted));
}

#[test]
fn a_snapshot_that_contradicts_itself_is_an_error_and_not_a_panic() {
    let mut snapshot = racks(vec![machine("n1", "r1", 4)], vec![job("g", 2)]);
    snapshot.gangs[0].queue = Some("nowhere".to_owned());
    let answer = solve(&snapshot, &SolveOptions::default(), &AtomicBool::new(false));
    assert!(matches!(answer, Err(Error::Invalid { document: "snapshot", .. })));
}
