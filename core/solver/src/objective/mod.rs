//! Soft goals, as integers.

pub(crate) mod locality;
pub(crate) mod ranks;
