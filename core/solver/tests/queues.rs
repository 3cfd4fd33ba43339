//! Whose turn it is, and what a queue may not take: through the same door as everything else.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use std::sync::atomic::AtomicBool;

use clusters::{Tape, amounts, gang, node, pod, queue, role};
use gangplan_solver::document::{Bypass, FairShare, Gang, Plan, Snapshot, SolveOptions, Stage};
use gangplan_solver::{check, solve};
use proptest::prelude::*;

fn job(name: &str, queue: Option<&str>, replicas: i64) -> Gang {
    let mut gang = gang(name, vec![role("worker", replicas, &[("gpu", 1)])]);
    gang.queue = queue.map(str::to_owned);
    gang
}

fn machine(gpus: u8) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.nodes.push(node("n", &[("gpu", gpus)]));
    snapshot
}

fn decided(snapshot: &Snapshot, options: &SolveOptions) -> Plan {
    let plan = solve(snapshot, options, &AtomicBool::new(false)).unwrap();
    assert_eq!(check(snapshot, &plan).unwrap(), vec![]);
    plan
}

fn placed(plan: &Plan) -> Vec<&str> {
    plan.placements.keys().map(String::as_str).collect()
}

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

/// One machine of 4 devices, 2 in use until second 600, the first gang needs all 4.
fn blocked() -> Snapshot {
    let mut snapshot = machine(4);
    let mut running = pod("other", "n", &[("gpu", 2)]);
    running.ends_s = Some(600);
    snapshot.running.push(running);
    let mut head = job("head", None, 4);
    head.priority = 1;
    snapshot.gangs.push(head);
    snapshot
}

#[test]
fn an_earmark_keeps_room_from_all_who_would_delay_the_head() {
    let options = SolveOptions { bypass: Bypass::Earmark, ..SolveOptions::default() };
    for (runtime_s, preemptible, starts) in
        [(None, false, false), (Some(601), false, false), (Some(600), false, true), (None, true, true)]
    {
        let mut snapshot = blocked();
        let mut small = job("small", None, 1);
        (small.runtime_s, small.preemptible) = (runtime_s, preemptible);
        snapshot.gangs.push(small);
        let plan = decided(&snapshot, &options);
        assert_eq!(plan.placements.contains_key("small"), starts, "{runtime_s:?} {preemptible}");
        let earmark = &plan.earmarks["head"];
        assert_eq!((earmark.starts_in_s, earmark.nodes.as_slice()), (Some(600), &["n".to_owned()][..]));
        if !starts {
            let rejection = &plan.rejections["small"];
            assert_eq!((rejection.stage, rejection.rule.as_str()), (Stage::Earmark, "ROOM_KEPT"));
            assert_eq!(rejection.message, "fits only into room that is kept for head, which comes first");
        }
    }
}

#[test]
fn without_bypass_nothing_of_the_same_queue_starts_behind_a_head_that_waits() {
    let mut snapshot = blocked();
    snapshot.queues = vec![queue("q", None, &[]), queue("other", None, &[])];
    snapshot.gangs[0].queue = Some("q".to_owned());
    snapshot.gangs.push(job("behind", Some("q"), 1));
    snapshot.gangs.push(job("beside", Some("other"), 1));
    let plan = decided(&snapshot, &SolveOptions { bypass: Bypass::None, ..SolveOptions::default() });
    assert_eq!(placed(&plan), ["beside"]);
    let rejection = &plan.rejections["behind"];
    assert_eq!((rejection.stage, rejection.rule.as_str()), (Stage::Fairness, "QUEUE_HEAD_WAITS"));
}

#[test]
fn a_limit_of_an_earlier_queue_is_no_reason_to_keep_room() {
    let mut snapshot = machine(4);
    snapshot.queues = vec![queue("tight", None, &[("gpu", 1)])];
    let mut head = job("head", Some("tight"), 2);
    head.priority = 1;
    let mut small = job("small", None, 1);
    small.preemptible = false;
    snapshot.gangs = vec![head, small];
    let plan = decided(&snapshot, &SolveOptions { bypass: Bypass::Earmark, ..SolveOptions::default() });
    assert_eq!(placed(&plan), ["small"]);
    assert!(plan.earmarks.is_empty());
}

#[test]
fn an_earmark_may_wait_for_an_age_or_a_number_of_bypasses() {
    for (age, bypassed, after_s, after_bypasses, kept) in [
        (10, 0, Some(10), None, true),
        (9, 0, Some(10), None, false),
        (0, 3, None, Some(3), true),
        (0, 2, None, Some(3), false),
        (0, 3, Some(10), Some(3), true),
        (10, 0, Some(10), Some(3), true),
        (9, 2, Some(10), Some(3), false),
    ] {
        let mut snapshot = blocked();
        snapshot.now = 1000;
        snapshot.gangs[0].created = 1000 - age;
        snapshot.gangs[0].bypassed = bypassed;
        let options = SolveOptions {
            bypass: Bypass::Earmark,
            earmark_after_s: after_s,
            earmark_after_bypasses: after_bypasses,
            ..SolveOptions::default()
        };
        let plan = decided(&snapshot, &options);
        assert_eq!(plan.earmarks.contains_key("head"), kept, "{age} s, {bypassed} times");
    }
}
