//! One machine, gangs of one device for each replica, and what becomes of them.
// A panic is how a test fails; not every suite uses all of it.
#![allow(dead_code, clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use gangplan_solver::document::{Gang, Plan, Snapshot, SolveOptions};
use gangplan_solver::{check, solve};

use crate::clusters::{gang, node, role};

pub fn job(name: &str, queue: Option<&str>, replicas: i64) -> Gang {
    let mut gang = gang(name, vec![role("worker", replicas, &[("gpu", 1)])]);
    gang.queue = queue.map(str::to_owned);
    gang
}

pub fn machine(gpus: u8) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.nodes.push(node("n", &[("gpu", gpus)]));
    snapshot
}

pub fn decided(snapshot: &Snapshot, options: &SolveOptions) -> Plan {
    let plan = solve(snapshot, options, &AtomicBool::new(false)).unwrap();
    assert_eq!(check(snapshot, &plan).unwrap(), vec![]);
    plan
}

pub fn placed(plan: &Plan) -> Vec<&str> {
    plan.placements.keys().map(String::as_str).collect()
}
