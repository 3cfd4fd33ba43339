//! Session: a cluster held in memory and kept up by deltas, and what is decided about it, in rows: a [`Session`] is told
//! in columns, a [`DocumentSession`] in names.

mod apply;
mod built;
mod columns;
mod commit;
mod compact;
mod decisions;
mod delta;
mod documents;
mod explain;
mod held;
mod judge;
mod row_deltas;
mod row_judge;
mod rowwise;
mod snapshot;
mod sound;

pub use columns::{
    Columns, GangColumns, LabelColumn, NONE, NodeColumns, NodeNeeds, PodColumns, RoleColumns, RunningColumns,
};
pub use commit::{Cause, Conflict};
pub use decisions::{Decisions, KeptRoom, Refusal, Work};
pub use delta::{Delta, NewGang, NewRole};
pub use documents::DocumentSession;
pub use held::Session;
pub use row_deltas::{DeltaColumns, EndedColumns, NodeDeltas};

pub(crate) use columns::optional;
