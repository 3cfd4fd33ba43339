//! Any small cluster, plain or with rules of every kind, in documents or in a session: the laws hold.
#![no_main]

#[path = "../../solver/tests/clusters/mod.rs"]
mod clusters;
#[path = "../../solver/tests/rich/mod.rs"]
mod rich;
#[path = "../../solver/tests/tables/mod.rs"]
mod tables;
#[path = "../../solver/tests/trial/mod.rs"]
mod trial;

use clusters::Tape;
use gangplan_solver::document::SolveOptions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (kind, tape) = bytes.split_at(bytes.len().min(1));
    match kind.first().map_or(0, |kind| kind % 8) {
        0 => {
            let budget = 1 + i64::from(kind.first().copied().unwrap_or(0)).pow(2) * 40;
            let options = SolveOptions { budget, ..SolveOptions::default() };
            rich::laws::judge(&clusters::snapshot(tape), &options, &tape[tape.len() / 2..]);
        }
        1 => {
            tables::history::hold(&mut Tape::new(tape), 12);
        }
        _ => rich::laws::hold(tape),
    }
});
