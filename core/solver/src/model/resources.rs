//! Amounts of every resource, as integers in base units.

use super::ids::ResourceId;

/// An amount for each resource of the model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ResourceVec(Box<[i64]>);

impl ResourceVec {
    pub(crate) fn zero(resources: usize) -> Self {
        Self(vec![0; resources].into())
    }

    pub(crate) fn as_slice(&self) -> &[i64] {
        &self.0
    }

    pub(crate) fn get(&self, resource: ResourceId) -> i64 {
        self.0[resource.index()]
    }

    pub(crate) fn set(&mut self, resource: ResourceId, amount: i64) {
        self.0[resource.index()] = amount;
    }

    /// Adds `other` `count` times. An amount beyond 64 bits stays at the end of the range, where nothing fits.
    pub(crate) fn add(&mut self, other: &Self, count: i64) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.saturating_add(theirs.saturating_mul(count));
        }
    }

    /// Raises each amount to that of `other`, where that is larger.
    pub(crate) fn raise_to(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// How many times this request fits `free`; 0 where anything is overdrawn.
    pub(crate) fn most_in(&self, free: &[i64]) -> i64 {
        let mut most = i64::MAX;
        for (&request, &free) in self.0.iter().zip(free) {
            if free < 0 {
                return 0;
            }
            if request > 0 {
                most = most.min(free / request);
            }
        }
        most
    }
}
