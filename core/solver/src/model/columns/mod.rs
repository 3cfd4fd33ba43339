//! Columns → Model: as [`build`](super::build) does from a snapshot, without text where there is none.

mod build;
mod classes;
mod levels;

pub(crate) use build::{Amounts, Rows};
pub(crate) use classes::verdict;
