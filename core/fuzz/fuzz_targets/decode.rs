//! Any bytes: a document is read or refused with its problems, never with a panic; what is read is written back the
//! same, and what is sound can be solved and judged.
#![no_main]

use std::sync::atomic::AtomicBool;

use gangplan_solver::document::{self, Plan, Snapshot, SolveOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    roundtrip::<Plan>(bytes);
    roundtrip::<SolveOptions>(bytes);
    let Some(snapshot) = roundtrip::<Snapshot>(bytes) else { return };
    let options = SolveOptions { budget: 20_000, ..SolveOptions::default() };
    if let Ok(plan) = gangplan_solver::solve(&snapshot, &options, &AtomicBool::new(false)) {
        let violations = gangplan_solver::check(&snapshot, &plan).expect("the snapshot was solved");
        assert!(violations.is_empty(), "{violations:?}");
    }
});

fn roundtrip<T: document::Document + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> Option<T> {
    match document::decode::<T>(bytes) {
        Ok(read) => {
            assert!(document::problems::<T>(bytes).is_empty());
            let again = document::decode::<T>(&document::encode(&read)).expect("what was written can be read");
            assert_eq!(read, again);
            Some(read)
        }
        Err(_) => {
            assert!(!document::problems::<T>(bytes).is_empty());
            None
        }
    }
}
