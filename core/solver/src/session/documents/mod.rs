//! A session that is told in names: all that a snapshot can say, kept up by documents or by rows.

mod commit;
mod held;
mod listed;
mod names;
mod put;
mod rowwise;

pub use held::DocumentSession;
