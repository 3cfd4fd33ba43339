//! Session: a cluster in columns, held in memory, and what is decided about it, in rows.

mod apply;
mod columns;
mod commit;
mod compact;
mod decisions;
mod delta;
mod explain;
mod held;
mod judge;
mod sound;

pub use columns::{
    Columns, GangColumns, LabelColumn, NONE, NodeColumns, NodeNeeds, PodColumns, RoleColumns, RunningColumns,
};
pub use commit::{Cause, Conflict};
pub use decisions::{Decisions, Refusal, Work};
pub use delta::{Delta, NewGang, NewRole};
pub use held::Session;
