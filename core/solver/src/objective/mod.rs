//! Soft goals, as integers.

pub(crate) mod locality;
