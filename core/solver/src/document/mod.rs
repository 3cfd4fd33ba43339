//! What crosses the border: documents with names and quantity strings, in JSON.
//!
//! Each mirrors a dataclass of the Python package field by field; a test there compares the two schemas.
//! [`decode`] reads a document or returns *all* its problems, each with its path.

mod affinity;
mod closeness;
mod decode;
mod deltas;
mod gang;
mod group;
mod node;
mod options;
mod path;
mod plan;
mod pod;
mod quantity;
mod queue;
mod quota;
mod replica_affinity;
mod rule;
mod running;
mod scan;
mod schema;
mod snapshot;
mod strict;
mod structure;
mod validate;
mod version;

pub use affinity::{
    Expression, ExpressionOperator, NodeSelectorTerm, Toleration, TolerationEffect, TolerationOperator,
};
pub use closeness::{Closeness, Slice, Spread};
pub use decode::{Document, decode, encode, problems, read, schema};
pub use deltas::{Deltas, Gone};
pub use gang::{Gang, Ranks, Role, Traffic};
pub use group::Group;
pub use node::{Node, Taint, TaintEffect};
pub use options::{Bypass, FairShare, Fill, SolveOptions};
pub use plan::{
    Certificate, Change, ChangeKind, Earmark, Exclusion, Holder, LevelFit, Placements, Plan, Rejection,
    Stage, Stats, StoppedBy,
};
pub use pod::{Container, Pod};
pub use quantity::{QuantityError, Rounding, format_quantity, parse_quantity};
pub use queue::Queue;
pub use quota::NamespaceQuota;
pub use replica_affinity::{PreferredTerm, ReplicaAffinity};
pub use rule::Rule;
pub use running::Running;
pub use snapshot::Snapshot;
pub use version::Version;

pub(crate) use decode::{known_placements, sound};
pub(crate) use path::Path;
pub(crate) use validate::{Findings, contradictions};

/// The default of weights.
fn one() -> i64 {
    1
}

/// The default of fields that are true unless said otherwise.
fn yes() -> bool {
    true
}
