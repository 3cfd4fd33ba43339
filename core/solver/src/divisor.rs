//! The greatest common divisor, for fractions and for weights that people can read.

/// The greatest whole number that divides both, at least 1. Neither may be negative.
pub(crate) fn greatest_common_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
