//! Where a gang goes: which levels and domains are tried, and with what.

mod asks;
mod budget;
mod domains;
mod exact;
mod field;
mod greedy;
mod mix;
mod pack;
mod place;
mod role_mix;
mod spread;

pub(crate) use budget::{Budget, Stop};
pub(crate) use exact::{Prover, most_of_largest};
pub(crate) use field::Field;
pub(crate) use greedy::as_many_as_fit;
pub(crate) use place::{Answer, Seat, place};
