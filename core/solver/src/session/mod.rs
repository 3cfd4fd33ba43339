//! Session: a cluster in columns, held in memory, and what is decided about it, in rows.

mod columns;
mod decisions;
mod sound;

pub use columns::{
    Columns, GangColumns, LabelColumn, NONE, NodeColumns, NodeNeeds, PodColumns, RoleColumns, RunningColumns,
};
pub use decisions::{Decisions, Refusal, Session, Work};
