//! Hard rules, one file each: what it admits, and the numbers for "why not".

pub(crate) mod capacity;
pub(crate) mod gang;
pub(crate) mod guarantee;
pub(crate) mod node_affinity;
pub(crate) mod quota;
pub(crate) mod topology;

pub(crate) use gang::Demand;
