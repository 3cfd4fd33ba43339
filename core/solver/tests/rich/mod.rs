//! Random small clusters in which everything that a snapshot can say is said: groups, minimums, slices, company, zones,
//! containers, quotas, shares, what runs, leaves or ends.
// Each test binary uses some of this.
#![allow(dead_code)]

mod gangs;
pub mod laws;

use gangplan_solver::document::{
    Bypass, FairShare, Fill, NamespaceQuota, Node, Queue, Running, Snapshot, SolveOptions, Taint, TaintEffect,
};

use crate::clusters::{Tape, amounts, member, node, pod, queue, texts};
pub use gangs::gang;

/// What a gang can be told to keep near or apart by.
pub const LEVELS: [&str; 3] = ["zone", "rack", "node"];

/// A small cluster; the first byte says how much of it there is.
pub fn snapshot(tape: &mut Tape<'_>) -> Snapshot {
    let mut snapshot = Snapshot {
        topology: vec!["zone".to_owned(), "rack".to_owned()],
        now: i64::from(tape.below(4)) * 100,
        ..Snapshot::default()
    };
    for index in 0..tape.range(1, 9) {
        snapshot.nodes.push(machine(tape, index));
    }
    if tape.once_in(2) {
        queues(&mut snapshot, tape);
    }
    if tape.once_in(4) {
        snapshot.quotas.push(NamespaceQuota {
            namespace: tape.pick(&["", "team"]).to_owned(),
            hard: amounts(&[("cpu", tape.range(2, 20))]),
            used: amounts(&[("cpu", tape.below(4))]),
        });
    }
    for index in 0..tape.range(1, 5) {
        let gang = gang(tape, &format!("g{index}"), &snapshot);
        snapshot.gangs.push(gang);
    }
    for gang in 0..snapshot.gangs.len() {
        if tape.once_in(3) {
            replicas(&mut snapshot, tape, gang);
        }
    }
    for index in 0..tape.below(4) {
        let other = pod_of_no_gang(tape, index, &snapshot);
        snapshot.running.push(other);
    }
    snapshot
}

/// Options of every kind; the budget is mostly the usual one.
pub fn options(tape: &mut Tape<'_>) -> SolveOptions {
    let mut options = SolveOptions::default();
    if tape.once_in(4) {
        let square = i64::from(tape.below(255));
        options.budget = 1 + square * square * 40;
    }
    options.placement = tape.pick(&[Fill::Pack, Fill::Pack, Fill::Spread]);
    options.fair_share = tape.pick(&[FairShare::Quota, FairShare::Weight, FairShare::Drf, FairShare::None]);
    options.bypass = tape.pick(&[Bypass::Free, Bypass::Free, Bypass::None, Bypass::Earmark]);
    if tape.once_in(3) {
        options.earmark_after_s = Some(i64::from(tape.below(3)) * 100);
        options.earmark_after_bypasses = Some(i64::from(tape.below(3)));
    }
    options.finish_broken_first = tape.once_in(2);
    options.nonpreemptible_within_deserved = tape.once_in(4);
    options
}

/// The rows of a snapshot in another order.
pub fn shuffle(snapshot: &mut Snapshot, tape: &mut Tape<'_>) {
    tape.shuffle(&mut snapshot.nodes);
    tape.shuffle(&mut snapshot.queues);
    tape.shuffle(&mut snapshot.gangs);
    tape.shuffle(&mut snapshot.running);
    tape.shuffle(&mut snapshot.quotas);
    for gang in &mut snapshot.gangs {
        tape.shuffle(&mut gang.roles);
        tape.shuffle(&mut gang.traffic);
        tape.shuffle(&mut gang.groups);
        for group in &mut gang.groups {
            tape.shuffle(&mut group.roles);
        }
    }
}

fn machine(tape: &mut Tape<'_>, index: u8) -> Node {
    let mut node = node(&format!("n{index}"), &[("cpu", tape.range(1, 12)), ("gpu", tape.below(5))]);
    node.labels = texts(&[
        ("zone", if index < 4 { "z0" } else { "z1" }),
        ("rack", tape.pick(&["r0", "r1", "r2"])),
        ("pool", tape.pick(&["a", "b"])),
        ("feed", if index.is_multiple_of(3) { "left" } else { "right" }),
    ]);
    if tape.once_in(10) {
        node.labels.remove("rack");
    }
    if tape.once_in(5) {
        node.allocatable.insert("pods".to_owned(), tape.range(1, 6).to_string());
    }
    if tape.once_in(3) {
        for _ in 0..tape.range(1, 4) {
            node.zones.push(amounts(&[("cpu", tape.range(1, 6)), ("gpu", tape.below(3))]));
        }
    }
    node.unschedulable = tape.once_in(15);
    node.ready = !tape.once_in(15);
    if tape.once_in(6) {
        node.taints.push(Taint {
            key: "dedicated".to_owned(),
            value: "ml".to_owned(),
            effect: tape.pick(&[
                TaintEffect::NoSchedule,
                TaintEffect::NoExecute,
                TaintEffect::PreferNoSchedule,
            ]),
        });
    }
    node
}

/// A root, two queues below it, and perhaps one below these.
fn queues(snapshot: &mut Snapshot, tape: &mut Tape<'_>) {
    let parents = [None, Some("root"), Some("root"), Some("left")];
    for (name, parent) in ["root", "left", "right", "leaf"].into_iter().zip(parents) {
        let mut queue = Queue { weight: i64::from(tape.below(4)), ..queue(name, parent, &[]) };
        queue.priority = i64::from(tape.below(2));
        queue.created = i64::from(tape.below(3));
        queue.open = !tape.once_in(12);
        if tape.once_in(4) {
            queue.limit = amounts(&[(tape.pick(&["cpu", "gpu", "pods"]), tape.range(1, 20))]);
        }
        if tape.once_in(3) {
            queue.deserved = Some(amounts(&[("cpu", tape.below(20)), ("gpu", tape.below(10))]));
        }
        if tape.once_in(6) {
            queue.guarantee = amounts(&[("cpu", tape.below(8))]);
        }
        snapshot.queues.push(queue);
    }
}

/// Some of a gang runs, is reserved, leaves or ends.
fn replicas(snapshot: &mut Snapshot, tape: &mut Tape<'_>, gang: usize) {
    let gang = snapshot.gangs[gang].clone();
    for role in &gang.roles {
        for index in 0..role.replicas {
            if tape.once_in(2) {
                let on = tape.pick(&snapshot.nodes);
                let mut held = member(&gang.name, &role.name, index, &on.name);
                stay(&mut held, &on, tape);
                held.reserved = tape.once_in(4);
                held.preemptible = tape.pick(&[None, None, Some(true), Some(false)]);
                snapshot.running.push(held);
            }
        }
    }
}

fn pod_of_no_gang(tape: &mut Tape<'_>, index: u8, snapshot: &Snapshot) -> Running {
    let on = tape.pick(&snapshot.nodes);
    let mut other = pod(&format!("pod-{index}"), &on.name, &[("cpu", tape.below(4)), ("gpu", tape.below(2))]);
    stay(&mut other, &on, tape);
    other.labels = texts(&[("kind", tape.pick(&["x", "y"]))]);
    if !snapshot.queues.is_empty() && tape.once_in(3) {
        other.queue = Some(tape.pick(&["root", "left", "leaf"]).to_owned());
    }
    other
}

fn stay(held: &mut Running, on: &Node, tape: &mut Tape<'_>) {
    if !on.zones.is_empty() && tape.once_in(2) {
        let zones = u8::try_from(on.zones.len()).unwrap_or(u8::MAX);
        held.zone = Some(i64::from(tape.below(zones)));
    }
    held.terminating = tape.once_in(6);
    held.ends_s = tape.pick(&[None, None, Some(10), Some(60)]);
}
