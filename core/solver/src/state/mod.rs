//! What changes during a search.

mod ledger;
mod quota;

pub(crate) use ledger::Ledger;
