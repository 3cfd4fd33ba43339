//! Any small cluster: its plan obeys all rules, whatever the budget.
#![no_main]

#[path = "../../solver/tests/clusters/mod.rs"]
mod clusters;

use std::sync::atomic::AtomicBool;

use gangplan_solver::document::SolveOptions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (head, tail) = bytes.split_at(bytes.len().min(1));
    let budget = head.first().map_or(200_000_000, |byte| i64::from(*byte) * i64::from(*byte) * 40);
    let snapshot = clusters::snapshot(tail);
    let options = SolveOptions { budget, ..SolveOptions::default() };
    let plan = gangplan_solver::solve(&snapshot, &options, &AtomicBool::new(false)).expect("a sound snapshot");
    let violations = gangplan_solver::check(&snapshot, &plan).expect("a sound snapshot");
    assert!(violations.is_empty(), "{violations:?}\n{snapshot:#?}\n{plan:#?}");
});
