//! What Python sees of the solver: bytes in, bytes out. No rule and no type of the solver is repeated here.

mod documents;
mod entry;
mod error;
mod solve;

use pyo3::prelude::*;

/// Documents are hundreds of thousands of small texts: with this allocator they are read and dropped in half the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The placement solver; `gangplan.solver` is its only user.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::documents::{format_quantity, parse_quantity, roundtrip, rules, schema, validate, version};
    #[pymodule_export]
    use super::solve::{check, solve, traffic};
}
