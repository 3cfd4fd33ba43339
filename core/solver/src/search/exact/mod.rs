//! Exact answer for one gang in one domain: a (max,+) table over the counts of its roles.
//!
//! Replicas of one role are alike, so that the decision needs counts only. `T(s)` is the most replicas of the
//! largest role that fit when at least `s` of the others are placed; folding in a node takes the best of its
//! options, the Pareto points of what it can host. The gang fits iff `T(all others)` reaches the largest role's
//! count.
//!
//! Cheaper stages come first, and each may end the search: places counted for each role; nodes where no roles
//! compete; sets of roles with enough nodes of their own ([`reduce`]); weights that refute the gang ([`weights`]),
//! which also tell the table which states to drop. The work, options looked at and cells written, is counted, so
//! that a cut search is cut the same way everywhere.

mod bounds;
mod instance;
mod options;
mod proof;
mod reduce;
mod steps;
mod table;
mod walk;
mod weights;

use std::ops::Range;

use super::{Budget, Field};
use crate::model::NodeId;
use crate::objective::locality::Spot;
use crate::state::Ledger;
use bounds::Bounds;
use instance::Instance;
pub(crate) use proof::Prover;
use reduce::reduce;
use steps::Steps;
use table::MOST_NARROW;
use walk::{Walk, search};
use weights::Weights;

/// More states than this are not tried: the tables would not fit the memory.
const MOST_STATES: usize = 1_000_000;
/// Cells that all stored tables may have together, four bytes each at most.
const MOST_STORED: usize = 64_000_000;

/// What the search says.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It fits, like this.
    Placed(Vec<Spot>),
    /// No placement exists.
    Impossible,
    /// The budget, or the memory, ends before the answer.
    Spent,
}

/// Whether and how the demand fits in `slots`. The Ledger is only read.
pub(crate) fn solve(
    ledger: &Ledger<'_>,
    field: &Field<'_>,
    slots: &Range<usize>,
    budget: &mut Budget<'_>,
) -> Outcome {
    match Instance::gather(ledger, field, slots) {
        Some(instance) => decide(instance, budget),
        None => Outcome::Spent,
    }
}

/// Whether the demand would fit in `slots` with `count` more nodes like `like`, empty; none if the budget ends first.
pub(crate) fn fits_with_more(
    ledger: &Ledger<'_>,
    field: &Field<'_>,
    slots: &Range<usize>,
    (like, count): (NodeId, i64),
    budget: &mut Budget<'_>,
) -> Option<bool> {
    let mut instance = Instance::gather(ledger, field, slots)?;
    instance.add(ledger, field, like, count);
    match decide(instance, budget) {
        Outcome::Placed(_) => Some(true),
        Outcome::Impossible => Some(false),
        Outcome::Spent => None,
    }
}

fn decide(mut instance: Instance, budget: &mut Budget<'_>) -> Outcome {
    if !budget.spend(count(instance.hosts.len())) {
        return Outcome::Spent;
    }
    if !reduce(&mut instance) {
        return Outcome::Impossible;
    }
    if instance.is_settled() {
        return Outcome::Placed(instance.spots);
    }
    let Some(steps) = Steps::list(&instance, budget) else { return Outcome::Spent };
    let Some((weights, slack)) = Weights::find(&steps, budget) else { return Outcome::Spent };
    if slack < 0 {
        return Outcome::Impossible;
    }
    let others = others(&steps);
    let states = others.iter().try_fold(1_usize, |states, count| states.checked_mul(count + 1));
    let tables = 2 * (steps.order.len().isqrt() + 1) + 2;
    if states.is_none_or(|states| states > MOST_STATES || states.saturating_mul(tables) > MOST_STORED) {
        return Outcome::Spent;
    }
    let bounds = Bounds::new(&steps, weights);
    let last = steps.wanted.last().copied().unwrap_or(0);
    let walk = if last <= MOST_NARROW {
        search::<i16>(&steps, &others, &bounds, budget)
    } else {
        search::<i32>(&steps, &others, &bounds, budget)
    };
    match walk {
        Walk::Done(taken) => {
            let mut spots = instance.spots;
            for (node, role, count) in taken {
                spots.push(Spot { node, role: instance.roles[role], count });
            }
            Outcome::Placed(spots)
        }
        Walk::Impossible => Outcome::Impossible,
        Walk::Spent => Outcome::Spent,
    }
}

/// The most replicas of the largest role that fit in `slots` beside all others, at most its count; none if the
/// others alone do not fit, or when the budget ends before the answer.
pub(crate) fn most_of_largest(
    ledger: &Ledger<'_>,
    field: &Field<'_>,
    slots: &Range<usize>,
    budget: &mut Budget<'_>,
) -> Option<i64> {
    let instance = Instance::gather(ledger, field, slots)?;
    let steps = Steps::list(&instance, budget)?;
    let others = others(&steps);
    let states = others.iter().try_fold(1_usize, |states, count| states.checked_mul(count + 1))?;
    if states > MOST_STATES {
        return None;
    }
    walk::most::<i32>(&steps, &others, budget).map(i64::from)
}

/// What is wanted of all roles but the last.
fn others(steps: &Steps) -> Vec<usize> {
    let (_, others) = steps.wanted.split_last().unwrap_or((&0, &[]));
    others.iter().map(|count| usize::try_from(*count).unwrap_or(0)).collect()
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::constraint::Demand;
    use crate::document::{Snapshot, SolveOptions, decode};
    use crate::model::{GangId, Level, Model};

    /// A repeatable stream of small numbers.
    struct Stream(u64);

    impl Stream {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }
    }

    fn snapshot(seed: u64) -> Snapshot {
        let mut stream = Stream(seed);
        let resources = 1 + stream.below(3);
        let amounts = |stream: &mut Stream, from: u64, to: u64| {
            let each =
                (0..resources).map(|index| format!("\"r{index}\": \"{}\"", from + stream.below(to - from)));
            each.collect::<Vec<_>>().join(", ")
        };
        let nodes: Vec<String> = (0..3 + stream.below(9))
            .map(|index| {
                format!("{{\"name\": \"n{index}\", \"allocatable\": {{{}}}}}", amounts(&mut stream, 4, 24))
            })
            .collect();
        let roles: Vec<String> = (0..2 + stream.below(3))
            .map(|index| {
                let replicas = 1 + stream.below(6 + 3 * index);
                format!(
                    "{{\"name\": \"r{index}\", \"replicas\": {replicas}, \"requests\": {{{}}}}}",
                    amounts(&mut stream, 1, 9)
                )
            })
            .collect();
        let document = format!(
            "{{\"nodes\": [{}], \"gangs\": [{{\"name\": \"g\", \"roles\": [{}]}}]}}",
            nodes.join(", "),
            roles.join(", ")
        );
        decode(document.as_bytes()).unwrap()
    }

    /// Each node's share is one that it can host, and the shares add up to what is wanted.
    fn is_sound(instance: &Instance, taken: &[(crate::model::NodeId, usize, i64)]) -> bool {
        let last = instance.roles.len() - 1;
        let mut sums = vec![0; last + 1];
        for host in &instance.hosts {
            let mut share = vec![0; last + 1];
            for (_, role, count) in taken.iter().filter(|(node, _, _)| *node == host.node) {
                share[*role] += *count;
                sums[*role] += *count;
            }
            let others: Vec<usize> =
                share[..last].iter().map(|count| usize::try_from(*count).unwrap()).collect();
            let within = (0..=last).all(|role| share[role] <= instance.cap(host.class, role));
            if !within || instance.most_of_last(host.class, &others).is_none_or(|most| most < share[last]) {
                return false;
            }
        }
        sums == instance.wanted
    }

    #[test]
    fn the_table_says_the_same_with_bounds_and_without_and_weights_never_contradict_it() {
        let (mut placed, mut refuted, mut by_table) = (0, 0, 0);
        for seed in 0..4000 {
            let snapshot = snapshot(seed);
            let model = Model::build(&snapshot);
            let ledger = Ledger::new(&model);
            let demand = Demand::of(&model, GangId::new(0));
            let field = Field::survey(&ledger, &demand);
            let slots = field.slots(&model.topology.domains(Level::CLUSTER)[0]);
            let flag = AtomicBool::new(false);
            let mut budget = Budget::new(&SolveOptions::default(), &flag);
            let instance = Instance::gather(&ledger, &field, &slots).unwrap();
            if instance.hosts.is_empty() {
                continue;
            }
            let steps = Steps::list(&instance, &mut budget).unwrap();
            let (weights, slack) = Weights::find(&steps, &mut budget).unwrap();
            let others = others(&steps);
            let open = search::<i32>(&steps, &others, &Bounds::open(&steps), &mut budget);
            let bounded = search::<i16>(&steps, &others, &Bounds::new(&steps, weights), &mut budget);
            match (&open, &bounded) {
                (Walk::Done(first), Walk::Done(second)) => {
                    assert!(slack >= 0, "seed {seed}: refuted, but placed");
                    assert!(is_sound(&instance, first) && is_sound(&instance, second), "seed {seed}");
                    placed += 1;
                }
                (Walk::Impossible, Walk::Impossible) if slack < 0 => refuted += 1,
                (Walk::Impossible, Walk::Impossible) => by_table += 1,
                other => panic!("seed {seed}: {other:?}"),
            }
            let whole = solve(&ledger, &field, &slots, &mut budget);
            assert_eq!(matches!(whole, Outcome::Placed(_)), matches!(open, Walk::Done(_)), "seed {seed}");
        }
        assert!(placed > 400 && refuted > 400 && by_table > 40, "{placed} {refuted} {by_table}");
    }
}
