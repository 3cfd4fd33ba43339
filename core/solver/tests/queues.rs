//! Whose turn it is, and what a queue may not take: through the same door as everything else.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;
mod jobs;

use clusters::{Tape, amounts, queue};
use gangplan_solver::document::{FairShare, SolveOptions, Stage};
use jobs::{decided, job, machine, placed};
use proptest::prelude::*;

/// How many gangs of one replica each queue gets of `gpus` devices.
fn shares(gpus: u8, weights: &[i64], waiting: &[u8], kind: FairShare) -> Vec<i64> {
    let mut snapshot = machine(gpus);
    for (index, (weight, waiting)) in weights.iter().zip(waiting).enumerate() {
        let name = format!("q{index}");
        let mut queue = queue(&name, None, &[]);
        queue.weight = *weight;
        snapshot.queues.push(queue);
        for number in 0..*waiting {
            snapshot.gangs.push(job(&format!("g{index}-{number:03}"), Some(&name), 1));
        }
    }
    let plan = decided(&snapshot, &SolveOptions { fair_share: kind, ..SolveOptions::default() });
    let of =
        |index: usize| plan.placements.keys().filter(|gang| gang.starts_with(&format!("g{index}-"))).count();
    (0..weights.len()).map(|index| i64::try_from(of(index)).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Weighted max-min fair up to one gang: nobody who still waits has a whole gang less for its weight.
    #[test]
    fn queues_share_by_weight(bytes in proptest::collection::vec(any::<u8>(), 16), drf in any::<bool>()) {
        let mut tape = Tape::new(&bytes);
        let count = usize::from(tape.range(2, 5));
        let weights: Vec<i64> = (0..count).map(|_| i64::from(tape.range(1, 5))).collect();
        let waiting: Vec<u8> = (0..count).map(|_| tape.range(0, 20)).collect();
        let gpus = tape.range(1, 40);
        let kind = if drf { FairShare::Drf } else { FairShare::Weight };
        let got = shares(gpus, &weights, &waiting, kind);
        let asked: i64 = waiting.iter().map(|count| i64::from(*count)).sum();
        prop_assert_eq!(got.iter().sum::<i64>(), asked.min(i64::from(gpus)));
        for a in 0..count {
            for b in (0..count).filter(|b| got[*b] < i64::from(waiting[*b])) {
                // (got_a − 1) / w_a ≤ got_b / w_b + …: the last gang of a did not come before a hungrier b.
                prop_assert!((got[a] - 1) * weights[b] < (got[b] + 1) * weights[a], "{got:?} {weights:?} {waiting:?}");
            }
        }
    }
}

#[test]
fn a_queue_within_what_it_deserves_comes_before_one_beyond_it_and_idle_room_is_lent() {
    let mut snapshot = machine(4);
    for (name, deserved) in [("a", 1), ("b", 3)] {
        let mut queue = queue(name, None, &[]);
        queue.deserved = Some(amounts(&[("gpu", deserved)]));
        snapshot.queues.push(queue);
    }
    for number in 0..4 {
        snapshot.gangs.push(job(&format!("a{number}"), Some("a"), 1));
    }
    assert_eq!(placed(&decided(&snapshot, &SolveOptions::default())).len(), 4, "b asks for nothing");
    for number in 0..4 {
        let mut late = job(&format!("b{number}"), Some("b"), 1);
        late.created = 9;
        snapshot.gangs.push(late);
    }
    assert_eq!(placed(&decided(&snapshot, &SolveOptions::default())), ["a0", "b0", "b1", "b2"]);
}

#[test]
fn a_share_that_cannot_start_its_next_gang_blocks_nobody() {
    let mut snapshot = machine(7);
    for name in ["a", "b"] {
        snapshot.queues.push(queue(name, None, &[]));
    }
    // Each deserves 3.5 devices; a gang of 4 never fits into that.
    snapshot.gangs = vec![job("a", Some("a"), 4), job("b", Some("b"), 4)];
    let options = SolveOptions { fair_share: FairShare::Weight, ..SolveOptions::default() };
    assert_eq!(placed(&decided(&snapshot, &options)), ["a"]);
}

#[test]
fn what_a_queue_is_guaranteed_is_not_lent() {
    let mut snapshot = machine(4);
    for (name, guarantee) in [("a", 0), ("b", 3)] {
        let mut queue = queue(name, None, &[]);
        queue.guarantee = amounts(&[("gpu", guarantee)]);
        snapshot.queues.push(queue);
    }
    snapshot.gangs = vec![job("a", Some("a"), 2)];
    let plan = decided(&snapshot, &SolveOptions::default());
    let rejection = &plan.rejections["a"];
    assert_eq!((rejection.stage, rejection.rule.as_str()), (Stage::Fairness, "GUARANTEE_KEPT"));
    assert_eq!(rejection.message, "needs 2 gpu; of 4 free 3 are guaranteed to other queues");
    snapshot.gangs.push(job("b", Some("b"), 3));
    assert_eq!(placed(&decided(&snapshot, &SolveOptions::default())), ["b"]);
    snapshot.gangs = vec![job("a", Some("a"), 1)];
    assert_eq!(placed(&decided(&snapshot, &SolveOptions::default())), ["a"]);
}

#[test]
fn gangs_that_may_not_be_preempted_stay_within_what_is_deserved_if_asked() {
    let mut snapshot = machine(4);
    let mut top = queue("top", None, &[]);
    top.deserved = Some(amounts(&[("gpu", 2)]));
    snapshot.queues = vec![top, queue("low", Some("top"), &[])];
    let mut fixed = job("fixed", Some("low"), 3);
    fixed.preemptible = false;
    snapshot.gangs = vec![fixed];
    assert_eq!(placed(&decided(&snapshot, &SolveOptions::default())), ["fixed"]);
    let strict = SolveOptions { nonpreemptible_within_deserved: true, ..SolveOptions::default() };
    let plan = decided(&snapshot, &strict);
    assert_eq!(plan.rejections["fixed"].rule, "QUEUE_DESERVED_EXCEEDED");
    assert_eq!(
        plan.rejections["fixed"].message,
        "needs 3 gpu; queue top has 2 left of what it deserves of 2, and it may not be preempted"
    );
    snapshot.gangs[0].preemptible = true;
    assert_eq!(placed(&decided(&snapshot, &strict)), ["fixed"]);
}
