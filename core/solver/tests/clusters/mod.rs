//! Random small clusters, made from a tape of bytes so that proptest can shrink them.
// Each test binary uses some of this.
#![allow(dead_code)]

pub mod rules;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use gangplan_solver::document::{
    Closeness, Expression, ExpressionOperator, Gang, Node, NodeSelectorTerm, Plan, Queue, Role, Running,
    Snapshot, SolveOptions, Taint, TaintEffect, Toleration, TolerationEffect, TolerationOperator, Traffic,
};
use gangplan_solver::solve;

/// Choices, one byte each; zeros once the tape has ended.
pub struct Tape<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Tape<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: bytes.iter() }
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u8) -> u8 {
        self.bytes.next().copied().unwrap_or(0) % end.max(1)
    }

    pub fn range(&mut self, start: u8, end: u8) -> u8 {
        start + self.below(end - start)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u8) -> bool {
        self.below(times) + 1 == times
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[usize::from(self.below(u8::try_from(from.len()).expect("short lists")))].clone()
    }

    /// The items in another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::from(self.below(u8::try_from(last + 1).expect("short lists")));
            items.swap(last, other);
        }
    }
}

/// Seeded bytes for tests that are not driven by proptest (`SplitMix64`).
pub fn seeded_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::new();
    while bytes.len() < length {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bytes.extend((mixed ^ (mixed >> 31)).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub fn amounts(pairs: &[(&str, u8)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, amount)| ((*name).to_owned(), amount.to_string())).collect()
}

pub fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub fn node(name: &str, allocatable: &[(&str, u8)]) -> Node {
    Node { name: name.to_owned(), allocatable: amounts(allocatable), ..Node::default() }
}

pub fn role(name: &str, replicas: i64, requests: &[(&str, u8)]) -> Role {
    Role { name: name.to_owned(), replicas, requests: amounts(requests), ..Role::default() }
}

pub fn gang(name: &str, roles: Vec<Role>) -> Gang {
    Gang { name: name.to_owned(), roles, ..Gang::default() }
}

/// A closeness that requires a level.
pub fn require(level: &str) -> Closeness {
    Closeness { required: Some(level.to_owned()), ..Closeness::default() }
}

/// A closeness that prefers a level.
pub fn prefer(level: &str) -> Closeness {
    Closeness { preferred: Some(level.to_owned()), ..Closeness::default() }
}

pub fn queue(name: &str, parent: Option<&str>, limit: &[(&str, u8)]) -> Queue {
    Queue {
        name: name.to_owned(),
        parent: parent.map(str::to_owned),
        limit: amounts(limit),
        ..Queue::default()
    }
}

/// A replica of a gang that runs.
pub fn member(gang: &str, role: &str, index: i64, node: &str) -> Running {
    Running {
        name: format!("{gang}/{role}/{index}"),
        node: node.to_owned(),
        gang: Some(gang.to_owned()),
        role: Some(role.to_owned()),
        index: Some(index),
        ..Running::default()
    }
}

pub fn pod(name: &str, node: &str, requests: &[(&str, u8)]) -> Running {
    Running {
        name: name.to_owned(),
        node: node.to_owned(),
        requests: amounts(requests),
        ..Running::default()
    }
}

pub fn expression(key: &str, operator: ExpressionOperator, values: &[&str]) -> Expression {
    Expression {
        key: key.to_owned(),
        operator,
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    }
}

/// Solves with the default options.
pub fn plan_for(snapshot: &Snapshot) -> Plan {
    solve(snapshot, &SolveOptions::default(), &AtomicBool::new(false)).expect("the snapshot is valid")
}

const LEVELS: [Option<&str>; 4] = [None, Some("zone"), Some("rack"), Some("node")];

/// A cluster of at most a dozen nodes with queues, running pods and a few gangs, most rules in play.
pub fn snapshot(bytes: &[u8]) -> Snapshot {
    let mut tape = Tape::new(bytes);
    let mut snapshot =
        Snapshot { topology: vec!["zone".to_owned(), "rack".to_owned()], ..Snapshot::default() };
    for rack in 0..tape.range(1, 5) {
        for index in 0..tape.range(1, 4) {
            snapshot.nodes.push(random_node(&mut tape, rack, index));
        }
    }
    let names: Vec<String> = snapshot.nodes.iter().map(|node| node.name.clone()).collect();
    if tape.once_in(2) {
        let limit = tape.range(3, 30);
        snapshot.queues.push(queue("root", None, &[("gpu", limit)]));
        let limit = tape.range(3, 30);
        snapshot.queues.push(queue("left", Some("root"), &[("cpu", limit)]));
        snapshot.queues.push(queue("right", Some("root"), &[]));
        snapshot.queues[1].priority = i64::from(tape.below(2));
        snapshot.queues[2].open = !tape.once_in(6);
    }
    for index in 0..tape.below(4) {
        let requests = [("cpu", tape.below(5)), ("gpu", tape.below(3))];
        let mut other = pod(&format!("pod-{index}"), &tape.pick(&names), &requests);
        other.reserved = tape.once_in(4);
        if !snapshot.queues.is_empty() && tape.once_in(3) {
            other.queue = Some("left".to_owned());
        }
        snapshot.running.push(other);
    }
    for index in 0..tape.range(1, 6) {
        let gang = random_gang(&mut tape, &format!("gang-{index}"), !snapshot.queues.is_empty());
        if tape.once_in(3) {
            for role in &gang.roles {
                for index in 0..role.replicas {
                    if tape.once_in(2) {
                        let on = tape.pick(&names);
                        snapshot.running.push(member(&gang.name, &role.name, index, &on));
                    }
                }
            }
        }
        snapshot.gangs.push(gang);
    }
    snapshot
}

fn random_node(tape: &mut Tape<'_>, rack: u8, index: u8) -> Node {
    let mut node = node(&format!("n-{rack}-{index}"), &[("cpu", tape.range(2, 16)), ("gpu", tape.below(8))]);
    if tape.once_in(5) {
        node.allocatable.insert("pods".to_owned(), tape.range(1, 5).to_string());
    }
    node.labels = texts(&[("zone", if rack < 2 { "z0" } else { "z1" })]);
    // The same rack names in both zones: other domains all the same.
    node.labels.insert("rack".to_owned(), format!("r{}", rack % 2));
    node.labels.insert("pool".to_owned(), tape.pick(&["a", "b"]).to_owned());
    if tape.once_in(12) {
        node.labels.remove("rack");
    }
    node.unschedulable = tape.once_in(12);
    node.ready = !tape.once_in(12);
    if tape.once_in(4) {
        node.taints.push(Taint {
            key: "dedicated".to_owned(),
            value: "ml".to_owned(),
            effect: tape.pick(&[TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule]),
        });
    }
    node
}

fn random_gang(tape: &mut Tape<'_>, name: &str, queues: bool) -> Gang {
    let mut roles = Vec::new();
    for role_name in ["worker", "ps", "evaluator"].into_iter().take(usize::from(tape.range(1, 4))) {
        let requests = [("cpu", tape.below(5)), ("gpu", tape.pick(&[0, 0, 1, 2]))];
        let mut role = role(role_name, i64::from(tape.range(1, 5)), &requests);
        if tape.once_in(6) {
            role.node_selector = texts(&[("pool", "a")]);
        }
        if tape.once_in(8) {
            let expressions = vec![expression("pool", ExpressionOperator::NotIn, &["a"])];
            role.node_affinity.push(NodeSelectorTerm { expressions });
        }
        if tape.once_in(3) {
            role.tolerations.push(Toleration {
                key: "dedicated".to_owned(),
                operator: TolerationOperator::Exists,
                value: String::new(),
                effect: TolerationEffect::All,
            });
        }
        roles.push(role);
    }
    let mut gang = gang(name, roles);
    gang.priority = i64::from(tape.below(2));
    gang.created = i64::from(tape.below(3));
    gang.topology = tape.pick(&LEVELS).map(require);
    if gang.topology.is_none() {
        gang.topology = tape.pick(&LEVELS).map(prefer);
    }
    if queues {
        gang.queue = tape.pick(&[None, Some("left"), Some("right"), Some("root")]).map(str::to_owned);
    }
    if gang.roles.len() > 1 && tape.once_in(2) {
        gang.traffic.push(Traffic {
            a: "worker".to_owned(),
            b: "ps".to_owned(),
            weight: i64::from(tape.below(4)),
        });
    }
    gang
}
