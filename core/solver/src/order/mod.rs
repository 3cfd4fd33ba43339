//! Who is next.

mod gang_order;

pub(crate) use gang_order::gang_order;
