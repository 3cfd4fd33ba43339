//! Who is next.

mod entitlement;
mod ratio;
mod share;
mod turns;

pub(crate) use turns::{Turn, Turns};
