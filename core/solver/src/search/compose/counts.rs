//! Sets of count vectors: which numbers of replicas, by role, a domain may hold. One bit a vector.

use crate::search::Budget;
use crate::search::budget::STRIDE;

/// So many vectors are tested before the clock and the stop flag are looked at again.
const MOST_TESTS: usize = 1 << 16;

/// The vectors from nothing to the totals of a gang, numbered; the digit of the largest role counts most.
#[derive(Debug)]
pub(super) struct Space {
    /// By role, the largest count.
    pub(super) tops: Vec<usize>,
    /// By role, what one more replica adds to the number of a vector.
    strides: Vec<usize>,
    /// How many vectors there are.
    pub(super) size: usize,
    /// The role whose digit counts most: sums beyond its top fall off the end.
    first: usize,
    /// By role and count, the vectors with at most so many of the role; empty for `first`.
    at_most: Vec<Vec<Counts>>,
}

/// A set of vectors of a [`Space`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Counts(Vec<u64>);

impl Space {
    /// None if it would have more than `limit` vectors.
    pub(super) fn new(tops: Vec<usize>, limit: usize) -> Option<Self> {
        let first = (0..tops.len()).max_by_key(|role| (tops[*role], std::cmp::Reverse(*role)))?;
        let mut strides = vec![0; tops.len()];
        let mut size: usize = 1;
        for role in (0..tops.len()).filter(|role| *role != first).chain([first]) {
            strides[role] = size;
            size = size.checked_mul(tops[role] + 1).filter(|size| *size <= limit)?;
        }
        let mut space = Self { tops, strides, size, first, at_most: Vec::new() };
        let masks: usize =
            (0..space.tops.len()).filter(|role| *role != first).map(|role| space.tops[role]).sum();
        if masks.saturating_mul(space.words()) > limit {
            return None;
        }
        space.at_most = (0..space.tops.len())
            .map(|role| {
                if role == first {
                    return Vec::new();
                }
                (0..space.tops[role]).map(|top| space.with_at_most(role, top)).collect()
            })
            .collect();
        Some(space)
    }

    /// How many words a set takes.
    pub(super) fn words(&self) -> usize {
        self.size.div_ceil(64)
    }

    pub(super) fn none(&self) -> Counts {
        Counts(vec![0; self.words()])
    }

    /// The set of one vector.
    pub(super) fn single(&self, vector: &[usize]) -> Counts {
        let mut set = self.none();
        set.insert(self.number(vector));
        set
    }

    /// The vectors that pass a test, a cell each; none when the budget ends.
    pub(super) fn only(&self, budget: &mut Budget<'_>, test: impl Fn(&[usize]) -> bool) -> Option<Counts> {
        let mut set = self.none();
        let mut vector = vec![0; self.tops.len()];
        let others = (0..self.tops.len()).filter(|role| *role != self.first);
        let order: Vec<usize> = others.chain([self.first]).collect();
        for start in (0..self.size).step_by(MOST_TESTS) {
            let end = self.size.min(start + MOST_TESTS);
            if !budget.spend(i64::try_from(end - start).unwrap_or(i64::MAX)) {
                return None;
            }
            for number in start..end {
                if test(&vector) {
                    set.insert(number);
                }
                for role in &order {
                    vector[*role] += 1;
                    if vector[*role] <= self.tops[*role] {
                        break;
                    }
                    vector[*role] = 0;
                }
            }
        }
        Some(set)
    }

    /// The vectors with at most so many of a role: runs of numbers.
    fn with_at_most(&self, role: usize, top: usize) -> Counts {
        let stride = self.strides[role];
        let mut set = self.none();
        for start in (0..self.size).step_by(stride * (self.tops[role] + 1)) {
            set.insert_all(start..start + stride * (top + 1));
        }
        set
    }

    pub(super) fn number(&self, vector: &[usize]) -> usize {
        vector.iter().zip(&self.strides).map(|(count, stride)| count * stride).sum()
    }

    /// Writes the vector with a number.
    pub(super) fn read(&self, number: usize, vector: &mut [usize]) {
        for (role, digit) in vector.iter_mut().enumerate() {
            *digit = number / self.strides[role] % (self.tops[role] + 1);
        }
    }

    pub(super) fn vector(&self, number: usize) -> Vec<usize> {
        let mut vector = vec![0; self.tops.len()];
        self.read(number, &mut vector);
        vector
    }

    /// All sums of a vector of `a` and one of `b` that stay within the tops. Of each of the `exclusive` sets of
    /// vectors without replicas of some roles, one of the two must be in it. The work is about
    /// [`Self::cost`] words; none when the budget ends.
    pub(super) fn sum(
        &self,
        a: &Counts,
        b: &Counts,
        exclusive: &[&Counts],
        budget: &mut Budget<'_>,
    ) -> Option<Counts> {
        if !budget.affords(self.cost(a, b)) {
            return None;
        }
        let each = self.cost_of(1);
        let mut pending = self.cost_of(2);
        let (many, few) = if a.len() < b.len() { (b, a) } else { (a, b) };
        let mut total = self.none();
        let mut vector = vec![0; self.tops.len()];
        let mut masked = many.clone();
        for number in few.numbers() {
            pending += each;
            if pending >= STRIDE {
                if !budget.spend(pending) {
                    return None;
                }
                pending = 0;
            }
            self.read(number, &mut vector);
            masked.0.copy_from_slice(&many.0);
            for (role, count) in
                vector.iter().enumerate().filter(|(role, count)| *role != self.first && **count > 0)
            {
                masked.keep(&self.at_most[role][self.tops[role] - count]);
            }
            for without in exclusive.iter().filter(|without| !without.has(number)) {
                masked.keep(without);
            }
            total.add_shifted(&masked, number);
        }
        total.cut(self.size);
        budget.spend(pending).then_some(total)
    }

    /// The work of a sum, in words.
    fn cost(&self, a: &Counts, b: &Counts) -> i64 {
        self.cost_of(a.len().min(b.len()) + 2)
    }

    fn cost_of(&self, vectors: usize) -> i64 {
        i64::try_from(vectors.saturating_mul(self.words()).saturating_mul(self.tops.len()))
            .unwrap_or(i64::MAX)
    }
}

impl Counts {
    pub(super) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn insert_all(&mut self, numbers: std::ops::Range<usize>) {
        let (first, last) = (numbers.start / 64, (numbers.end - 1) / 64);
        for word in first..=last {
            let low = if word == first { numbers.start % 64 } else { 0 };
            let high = if word == last { (numbers.end - 1) % 64 } else { 63 };
            self.0[word] |= (u64::MAX << low) & (u64::MAX >> (63 - high));
        }
    }

    pub(super) fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    /// How many vectors it has.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Drops what is not in `other`.
    pub(super) fn keep(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine &= theirs;
        }
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    index * 64 + bit
                })
            })
        })
    }

    fn add_shifted(&mut self, other: &Self, by: usize) {
        let (words, bits) = (by / 64, by % 64);
        let length = self.0.len();
        for index in words..length {
            let low = other.0[index - words];
            self.0[index] |= low << bits;
            if bits > 0 && index + 1 < length {
                self.0[index + 1] |= low >> (64 - bits);
            }
        }
    }

    fn cut(&mut self, size: usize) {
        if !size.is_multiple_of(64)
            && let Some(last) = self.0.last_mut()
        {
            *last &= (1 << (size % 64)) - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::document::SolveOptions;

    fn set(space: &Space, vectors: &BTreeSet<Vec<usize>>) -> Counts {
        let mut set = space.none();
        for vector in vectors {
            set.insert(space.number(vector));
        }
        set
    }

    #[test]
    fn the_vectors_with_at_most_so_many_of_a_role_are_those_that_a_count_finds() {
        for tops in [vec![3, 70, 2], vec![1; 9], vec![5, 0, 64]] {
            let space = Space::new(tops.clone(), 1 << 20).unwrap();
            for (role, top) in
                tops.iter().enumerate().flat_map(|(role, top)| (0..*top).map(move |top| (role, top)))
            {
                let flag = AtomicBool::new(false);
                let mut budget = Budget::new(&SolveOptions::default(), &flag);
                let counted = space.only(&mut budget, |vector| vector[role] <= top).unwrap();
                assert_eq!(space.with_at_most(role, top), counted, "{tops:?}: role {role}, {top}");
            }
        }
    }

    #[test]
    fn a_sum_is_all_sums_that_stay_within_the_tops() {
        for seed in 0..200_usize {
            let tops = vec![seed % 5, 3 + seed % 7, seed % 3];
            let space = Space::new(tops.clone(), 1 << 20).unwrap();
            let some = |salt: usize| -> BTreeSet<Vec<usize>> {
                (0..space.size)
                    .filter(|number| (number * 31 + salt * 17 + seed).is_multiple_of(4))
                    .map(|number| space.vector(number))
                    .collect()
            };
            let (a, b) = (some(1), some(2));
            let without = |vector: &[usize]| vector[1] == 0;
            let (mut plain, mut exclusive) = (BTreeSet::new(), BTreeSet::new());
            for (x, y) in a.iter().flat_map(|x| b.iter().map(move |y| (x, y))) {
                let sum: Vec<usize> = x.iter().zip(y).map(|(x, y)| x + y).collect();
                if sum.iter().zip(&tops).all(|(sum, top)| sum <= top) {
                    if without(x) || without(y) {
                        exclusive.insert(sum.clone());
                    }
                    plain.insert(sum);
                }
            }
            let flag = AtomicBool::new(false);
            let mut budget = Budget::new(&SolveOptions::default(), &flag);
            let (a, b) = (set(&space, &a), set(&space, &b));
            assert_eq!(space.sum(&a, &b, &[], &mut budget), Some(set(&space, &plain)), "{seed}");
            let mask = space.only(&mut budget, without).unwrap();
            assert_eq!(space.sum(&a, &b, &[&mask], &mut budget), Some(set(&space, &exclusive)), "{seed}");
        }
    }
}
