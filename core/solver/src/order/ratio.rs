//! Exact fractions, compared without overflow.

use std::cmp::Ordering;

use crate::divisor::greatest_common_divisor;

/// A fraction of nonnegative integers. With the denominator 0 it is above all others, unless the numerator is 0 too:
/// nothing of nothing is nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ratio {
    numerator: i128,
    denominator: i128,
}

impl Ratio {
    pub(crate) const ZERO: Self = Self { numerator: 0, denominator: 1 };

    /// In lowest terms; negative parts count as 0.
    pub(crate) fn new(numerator: i128, denominator: i128) -> Self {
        let (numerator, denominator) = (numerator.max(0), denominator.max(0));
        if numerator == 0 {
            return Self::ZERO;
        }
        let common = greatest_common_divisor(numerator, denominator);
        Self { numerator: numerator / common, denominator: denominator / common }
    }

    pub(crate) fn whole(amount: i128) -> Self {
        Self::new(amount, 1)
    }

    /// The whole part; the largest number where the denominator is 0.
    pub(crate) fn floor(self) -> i128 {
        self.numerator.checked_div(self.denominator).unwrap_or(i128::MAX)
    }

    /// What is left after `amount` is taken; not below 0. Beyond 128 bits the fraction is rounded down before.
    pub(crate) fn less(self, amount: i128) -> Self {
        match amount.checked_mul(self.denominator) {
            Some(taken) => Self::new(self.numerator - taken, self.denominator),
            None => Self::whole(self.numerator / self.denominator.max(1) - amount),
        }
    }

    /// This times `factor`, divided by `divisor`. Beyond 128 bits the fraction is rounded down before.
    pub(crate) fn scaled(self, factor: i128, divisor: i128) -> Self {
        if let (Some(numerator), Some(denominator)) =
            (self.numerator.checked_mul(factor), self.denominator.checked_mul(divisor))
        {
            return Self::new(numerator, denominator);
        }
        let whole = self.numerator / self.denominator.max(1);
        Self::new(whole.saturating_mul(factor), divisor)
    }

    /// How large a part of this `amount` is.
    pub(crate) fn part(self, amount: i128) -> Self {
        match amount.checked_mul(self.denominator) {
            Some(numerator) => Self::new(numerator, self.numerator),
            None => Self::new(amount, self.numerator / self.denominator.max(1)),
        }
    }
}

impl Ord for Ratio {
    /// By whole parts, then by the rests turned over: as a continued fraction, so that no product is needed.
    fn cmp(&self, other: &Self) -> Ordering {
        let (mut a, mut b) = (self.numerator, self.denominator);
        let (mut c, mut d) = (other.numerator, other.denominator);
        loop {
            if b == 0 || d == 0 {
                return (b == 0).cmp(&(d == 0));
            }
            let (whole_a, whole_c) = (a / b, c / d);
            if whole_a != whole_c {
                return whole_a.cmp(&whole_c);
            }
            // a/b < c/d exactly if d/(c mod d) < b/(a mod b).
            (a, b, c, d) = (d, c % d, b, a % b);
        }
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fractions_are_ordered_as_their_cross_products(a in 0_i128..1 << 60, b in 1_i128..1 << 60, c in 0_i128..1 << 60, d in 1_i128..1 << 60) {
            prop_assert_eq!(Ratio::new(a, b).cmp(&Ratio::new(c, d)), (a * d).cmp(&(c * b)));
        }

        #[test]
        fn small_fractions_too(a in 0_i128..9, b in 0_i128..9, c in 0_i128..9, d in 0_i128..9) {
            let expected = match (a > 0 && b == 0, c > 0 && d == 0) {
                (false, false) => (a * d.max(1)).cmp(&(c * b.max(1))),
                (one, other) => one.cmp(&other),
            };
            prop_assert_eq!(Ratio::new(a, b).cmp(&Ratio::new(c, d)), expected);
        }
    }

    #[test]
    fn a_part_of_nothing_is_above_every_other_and_nothing_of_nothing_is_nothing() {
        assert!(Ratio::ZERO.part(1) > Ratio::whole(i128::MAX));
        assert_eq!(Ratio::ZERO.part(0), Ratio::ZERO);
        assert_eq!(Ratio::new(7, 2).part(7), Ratio::whole(2));
    }
}
