//! Every way to break a plan is caught, under the code of the rule that it breaks.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use std::collections::BTreeMap;

use clusters::{
    Tape, amounts, expression, gang, member, node, plan_for, pod, queue, require, role, seeded_bytes, texts,
};
use gangplan_solver::check;
use gangplan_solver::document::{
    Earmark, ExpressionOperator, NodeSelectorTerm, Plan, Rejection, Rule, Snapshot, Taint, TaintEffect,
};

/// Corruptions of each rule.
const EACH: u64 = 20;

/// Two racks of roomy nodes, one node for every reason to stay away, gangs that fit and gangs that do not.
fn snapshot(tape: &mut Tape<'_>) -> Snapshot {
    let mut snapshot =
        Snapshot { topology: vec!["zone".to_owned(), "rack".to_owned()], ..Snapshot::default() };
    for index in 0..6 {
        let mut node = node(&format!("good-{index}"), &[("cpu", tape.range(20, 40)), ("gpu", 4)]);
        node.labels = texts(&[("zone", "z"), ("pool", "train"), ("rack", if index < 3 { "a" } else { "b" })]);
        snapshot.nodes.push(node);
    }
    let mut bad = |name: &str| {
        let mut node = node(name, &[("cpu", 60), ("gpu", 8)]);
        node.labels = texts(&[("zone", "z"), ("pool", "train"), ("rack", "a")]);
        snapshot.nodes.push(node);
        snapshot.nodes.len() - 1
    };
    let (dark, cordoned, outside) = (bad("dark"), bad("cordoned"), bad("outside"));
    let (other_pool, other_arch, tainted, full) = (bad("pool"), bad("arch"), bad("tainted"), bad("full"));
    snapshot.nodes[dark].ready = false;
    snapshot.nodes[cordoned].unschedulable = true;
    snapshot.nodes[outside].labels.remove("rack");
    snapshot.nodes[other_pool].labels.insert("pool".to_owned(), "serve".to_owned());
    snapshot.nodes[other_arch].labels.insert("arch".to_owned(), "arm64".to_owned());
    let taint = Taint { key: "out".to_owned(), value: String::new(), effect: TaintEffect::NoExecute };
    snapshot.nodes[tainted].taints.push(taint);
    snapshot.running.push(pod("other", &snapshot.nodes[full].name, &[("cpu", 60)]));
    let mut closed = queue("closed", None, &[]);
    closed.open = false;
    snapshot.queues = vec![queue("tight", None, &[("cpu", 1)]), closed, queue("shy", None, &[])];
    for (name, queue) in [("a", None), ("b", None), ("shut", Some("closed")), ("over", Some("tight"))] {
        let mut roles =
            vec![role("ps", i64::from(tape.range(1, 3)), &[("cpu", 2)]), role("worker", 3, &[("cpu", 3)])];
        for role in &mut roles {
            role.node_selector = texts(&[("pool", "train")]);
            let expressions = vec![expression("arch", ExpressionOperator::NotIn, &["arm64"])];
            role.node_affinity = vec![NodeSelectorTerm { expressions }];
        }
        let mut gang = gang(name, roles);
        gang.topology = Some(require("rack"));
        gang.queue = queue.map(str::to_owned);
        snapshot.gangs.push(gang);
    }
    let mut huge = gang("huge", vec![role("ps", 1, &[("cpu", 2)]), role("worker", 600, &[("cpu", 3)])]);
    huge.topology = Some(require("rack"));
    snapshot.gangs.push(huge);
    let mut running = gang("runs", vec![role("worker", 1, &[("cpu", 1)])]);
    running.priority = 1;
    snapshot.gangs.push(running);
    snapshot.running.push(member("runs", "worker", 0, "good-0"));
    snapshot
}

type Seats<'a> = &'a mut Vec<String>;

/// The nodes of some role of gang `a` or `b`, and a position in them.
fn some_role<'a>(plan: &'a mut Plan, tape: &mut Tape<'_>) -> (Seats<'a>, usize) {
    let gang = tape.pick(&["a", "b"]);
    let role = tape.pick(&["ps", "worker"]);
    let nodes = plan.placements.get_mut(gang).unwrap().get_mut(role).unwrap();
    let index = usize::from(tape.below(u8::try_from(nodes.len()).unwrap()));
    (nodes, index)
}

fn move_one(plan: &mut Plan, tape: &mut Tape<'_>, to: &str) {
    let (nodes, index) = some_role(plan, tape);
    to.clone_into(&mut nodes[index]);
}

/// Places a refused gang on good nodes of one rack.
fn admit(plan: &mut Plan, tape: &mut Tape<'_>, snapshot: &Snapshot, name: &str) {
    plan.rejections.remove(name);
    let gang = snapshot.gangs.iter().find(|gang| gang.name == name).unwrap();
    let roles = gang.roles.iter().map(|role| {
        let nodes = (0..role.replicas).map(|_| format!("good-{}", tape.below(3)));
        (role.name.clone(), nodes.collect())
    });
    plan.placements.insert(name.to_owned(), roles.collect());
}

fn some_rejection(plan: &Plan) -> Rejection {
    plan.rejections["shut"].clone()
}

/// Breaks `rule`, in one of several ways.
fn corrupt(rule: Rule, plan: &mut Plan, tape: &mut Tape<'_>, snapshot: &mut Snapshot) {
    match rule {
        Rule::NodeNotReady => move_one(plan, tape, "dark"),
        Rule::NodeCordoned => move_one(plan, tape, "cordoned"),
        Rule::NodeOutsideTopology => move_one(plan, tape, "outside"),
        Rule::NodeSelectorMismatch => move_one(plan, tape, "pool"),
        Rule::NodeAffinityMismatch => move_one(plan, tape, "arch"),
        Rule::TaintNotTolerated => move_one(plan, tape, "tainted"),
        Rule::CapacityInsufficient => move_one(plan, tape, "full"),
        Rule::TopologySplit => {
            let in_a = ["good-0", "good-1", "good-2"];
            let (nodes, index) = some_role(plan, tape);
            let other = if in_a.contains(&nodes[index].as_str()) { 3 } else { 0 };
            nodes[index] = format!("good-{}", other + tape.below(3));
        }
        Rule::QueueClosed => admit(plan, tape, snapshot, "shut"),
        Rule::QueueLimitExceeded => admit(plan, tape, snapshot, "over"),
        Rule::GuaranteeKept => {
            let all = snapshot
                .nodes
                .iter()
                .map(|node| node.allocatable["cpu"].parse::<i64>().unwrap())
                .sum::<i64>();
            let promise = snapshot.queues.iter_mut().find(|queue| queue.name == "shy").unwrap();
            promise.guarantee =
                BTreeMap::from([("cpu".to_owned(), (all - i64::from(tape.below(5))).to_string())]);
        }
        Rule::PlanUnknownName => match tape.below(7) {
            0 => move_one(plan, tape, "nowhere"),
            1 => {
                let roles = plan.placements.get_mut("a").unwrap();
                let nodes = roles.remove("ps").unwrap();
                roles.insert("server".to_owned(), nodes);
            }
            2 => {
                let roles = plan.placements.remove("b").unwrap();
                plan.placements.insert("c".to_owned(), roles);
            }
            3 => "NO_RULE".clone_into(&mut plan.rejections.get_mut("shut").unwrap().rule),
            4 => {
                let kept = Earmark { nodes: vec!["nowhere".to_owned()], starts_in_s: None };
                plan.earmarks.insert("shut".to_owned(), kept);
            }
            5 => {
                let kept = Earmark { nodes: vec!["good-0".to_owned()], starts_in_s: None };
                plan.earmarks.insert("nobody".to_owned(), kept);
            }
            _ => {
                plan.rejections.insert("nobody".to_owned(), some_rejection(plan));
            }
        },
        Rule::GangUnanswered => match tape.below(5) {
            0 => drop(plan.placements.remove("a")),
            1 => drop(plan.rejections.remove("over")),
            2 => drop(plan.rejections.insert("b".to_owned(), some_rejection(plan))),
            3 => drop(plan.rejections.insert("runs".to_owned(), some_rejection(plan))),
            _ => {
                let roles = BTreeMap::from([("worker".to_owned(), vec!["good-1".to_owned()])]);
                plan.placements.insert("runs".to_owned(), roles);
            }
        },
        Rule::GangIncomplete => {
            let (nodes, index) = some_role(plan, tape);
            if tape.once_in(2) {
                nodes.remove(index);
            } else {
                nodes.push(nodes[index].clone());
            }
        }
        Rule::TrafficMiscounted => match tape.below(4) {
            0 => *plan.traffic.get_mut("a").unwrap() += i64::from(tape.range(1, 9)),
            1 => *plan.traffic.get_mut("b").unwrap() -= 1,
            2 => drop(plan.traffic.remove("a")),
            _ => drop(plan.traffic.insert("shut".to_owned(), 0)),
        },
        Rule::CertificateWrong => {
            let certificates = &mut plan.rejections.get_mut("huge").unwrap().certificates;
            let certificate = &mut certificates[0];
            match tape.below(6) {
                0 => certificate.needs += 1,
                1 => certificate.most = certificate.needs,
                2 => certificate.most = i64::from(tape.below(9)),
                3 => drop(certificate.domains.pop()),
                4 => drop(certificate.weights.insert("ps".to_owned(), -1)),
                _ => certificate.weights.values_mut().for_each(|weight| *weight *= 2),
            }
        }
        Rule::TopologyTooSmall
        | Rule::PackingImpossible
        | Rule::Stopped
        | Rule::QueueDeservedExceeded
        | Rule::QueueHeadWaits
        | Rule::RoomKept => {
            unreachable!("only refusals have these rules")
        }
        _ => unreachable!("broken in corruptions_of_company"),
    }
}

#[test]
fn every_corruption_is_caught_under_its_rule() {
    let others = [
        Rule::TopologyTooSmall,
        Rule::PackingImpossible,
        Rule::Stopped,
        Rule::QueueDeservedExceeded,
        Rule::QueueHeadWaits,
        Rule::RoomKept,
        Rule::NamespaceQuotaExceeded,
        Rule::SlicesBroken,
        Rule::SpreadExceeded,
        Rule::CompanyMissing,
        Rule::CompanyUnwanted,
        Rule::ZoneTooSmall,
        Rule::GroupIncomplete,
    ];
    let mut caught: BTreeMap<&str, u64> = BTreeMap::new();
    for rule in Rule::ALL.into_iter().filter(|rule| !others.contains(rule)) {
        for seed in 0..EACH {
            let bytes = seeded_bytes(seed, 64);
            let mut tape = Tape::new(&bytes);
            let mut snapshot = snapshot(&mut tape);
            let mut plan = plan_for(&snapshot);
            assert_eq!(check(&snapshot, &plan).unwrap(), vec![], "the plan is sound before");
            assert_eq!(plan.placements.len(), 2);
            corrupt(rule, &mut plan, &mut tape, &mut snapshot);
            let violations = check(&snapshot, &plan).unwrap();
            assert!(
                violations.iter().any(|violation| violation.rule == rule.code()),
                "{} is not caught (seed {seed}): {violations:?}",
                rule.code(),
            );
            *caught.entry(rule.code()).or_default() += 1;
        }
    }
    assert_eq!(caught.len(), 16, "{caught:?}");
    assert!(caught.values().all(|count| *count == EACH), "{caught:?}");
    assert!(caught.values().sum::<u64>() >= 200);
}

#[test]
fn all_violations_are_reported_at_once_in_the_order_of_the_plan() {
    let bytes = seeded_bytes(1, 64);
    let mut tape = Tape::new(&bytes);
    let snapshot = snapshot(&mut tape);
    let mut plan = plan_for(&snapshot);
    plan.placements.get_mut("a").unwrap().get_mut("worker").unwrap()[1] = "dark".to_owned();
    plan.placements.get_mut("b").unwrap().get_mut("worker").unwrap()[2] = "tainted".to_owned();
    let rules: Vec<(&str, String)> = check(&snapshot, &plan)
        .unwrap()
        .into_iter()
        .filter(|violation| violation.path.starts_with("$.placements") && violation.path.contains('['))
        .map(|violation| (violation.rule, violation.path))
        .collect();
    assert_eq!(
        rules,
        [
            ("NODE_NOT_READY", "$.placements.a.worker[1]".to_owned()),
            ("TAINT_NOT_TOLERATED", "$.placements.b.worker[2]".to_owned()),
        ]
    );
}

#[test]
fn a_replica_more_than_fits_is_caught_whatever_runs_beside_it() {
    let mut snapshot = Snapshot::default();
    snapshot.nodes.push(node("n", &[("cpu", 4)]));
    snapshot.running.push(pod("other", "n", &[("cpu", 3)]));
    snapshot.gangs.push(gang("g", vec![role("worker", 1, &[("cpu", 2)])]));
    let mut plan = plan_for(&snapshot);
    plan.rejections.clear();
    let roles = BTreeMap::from([("worker".to_owned(), vec!["n".to_owned()])]);
    plan.placements.insert("g".to_owned(), roles);
    plan.traffic.insert("g".to_owned(), 0);
    let violations = check(&snapshot, &plan).unwrap();
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].message, "node n has 4 cpu, 5 would be taken");
    snapshot.nodes[0].allocatable = amounts(&[("cpu", 5)]);
    assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
}
