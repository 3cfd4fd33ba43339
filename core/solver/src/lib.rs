//! Places gangs of replicas on a cluster: documents in, plan out.
pub mod document;
mod error;

pub use error::{Error, Problem, ProblemCode};
