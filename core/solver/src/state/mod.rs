//! What changes during a search.

mod books;
mod ledger;
mod quota;
mod shape_cache;

pub(crate) use books::Books;
pub(crate) use ledger::Ledger;
pub(crate) use shape_cache::{CHUNK, LAST_BIT, ShapeCache, at_least, band, bands_from, most_countable};
