//! Places gangs of replicas on a cluster: documents in, plan out.
pub mod document;

mod check;
mod constraint;
mod error;
mod explain;
mod model;
mod objective;
mod order;
mod search;
mod solve;
mod state;

pub use check::{Violation, check};
pub use error::{Error, Problem, ProblemCode};
pub use solve::{evaluate, solve, solve_bytes};
