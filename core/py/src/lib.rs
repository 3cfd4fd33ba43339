//! What Python sees of the solver: bytes and buffers in, bytes out. No rule and no type of the solver is repeated here.

mod buffers;
mod columns;
mod decisions;
mod delta_columns;
mod documents;
mod entry;
mod error;
mod held;
mod session;
mod solve;
mod workers;

use pyo3::prelude::*;

/// Documents are hundreds of thousands of small texts: with this allocator they are read and dropped in half the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The placement solver; `gangplan.solver` and `gangplan.session` are its only users.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::decisions::Decisions;
    #[pymodule_export]
    use super::documents::{format_quantity, parse_quantity, roundtrip, rules, schema, validate, version};
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::solve::{check, solve, traffic};
}
