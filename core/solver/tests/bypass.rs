//! What may start while a gang that came first waits: through the same door as everything else.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;
mod jobs;

use std::collections::BTreeSet;

use clusters::{Tape, member, node, pod, queue};
use gangplan_solver::document::{Bypass, Snapshot, SolveOptions, Stage};
use jobs::{decided, job, machine, placed};
use proptest::prelude::*;

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
fn room_is_kept_too_where_nobody_knows_when_others_end() {
    let options = SolveOptions { bypass: Bypass::Earmark, ..SolveOptions::default() };
    let mut snapshot = blocked();
    snapshot.running.clear();
    snapshot.gangs.push(job("runs", None, 2));
    snapshot.running = (0..2).map(|index| member("runs", "worker", index, "n")).collect();
    let mut small = job("small", None, 1);
    (small.preemptible, small.runtime_s) = (false, Some(1));
    snapshot.gangs.push(small);
    let plan = decided(&snapshot, &options);
    assert_eq!((plan.earmarks["head"].starts_in_s, placed(&plan)), (None, vec![]));
    assert_eq!(plan.rejections["small"].rule, "ROOM_KEPT");
}

#[test]
fn a_gang_that_a_limit_keeps_back_is_not_passed_for_ever() {
    let options = SolveOptions { bypass: Bypass::Earmark, ..SolveOptions::default() };
    let mut snapshot = machine(8);
    snapshot.queues = vec![queue("q", None, &[("gpu", 4)]), queue("free", None, &[])];
    snapshot.gangs = vec![job("runs", Some("q"), 2), job("head", Some("q"), 4)];
    snapshot.running = (0..2).map(|index| member("runs", "worker", index, "n")).collect();
    for (name, queue) in [("later", "q"), ("beside", "free")] {
        let mut gang = job(name, Some(queue), 2);
        (gang.created, gang.preemptible) = (1, false);
        snapshot.gangs.push(gang);
    }
    let plan = decided(&snapshot, &options);
    assert_eq!(placed(&plan), ["beside"]);
    assert!(plan.earmarks["head"].nodes.is_empty());
    assert_eq!(
        (plan.rejections["head"].rule.as_str(), plan.rejections["later"].rule.as_str()),
        ("QUEUE_LIMIT_EXCEEDED", "ROOM_KEPT")
    );

    snapshot.running.clear();
    snapshot.gangs.retain(|gang| gang.name != "runs");
    assert_eq!(placed(&decided(&snapshot, &options)), ["beside", "head"]);

    // What never ends keeps the head back for ever, and so nobody else.
    let mut service = pod("service", "n", &[("gpu", 2)]);
    service.queue = Some("q".to_owned());
    snapshot.running.push(service);
    let plan = decided(&snapshot, &options);
    assert_eq!((placed(&plan), plan.earmarks.len()), (vec!["beside", "later"], 0));
}

#[test]
fn nothing_is_kept_for_a_gang_that_will_not_fit_when_all_gangs_have_ended() {
    let mut snapshot = blocked();
    snapshot.running[0].ends_s = None;
    snapshot.gangs.push(job("small", None, 1));
    let plan = decided(&snapshot, &SolveOptions { bypass: Bypass::Earmark, ..SolveOptions::default() });
    assert_eq!((plan.earmarks.len(), placed(&plan)), (0, vec!["small"]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever comes later: a gang with an Earmark starts at the latest when all have ended that ran when it got it.
    #[test]
    fn nobody_who_comes_later_delays_a_gang_with_an_earmark(bytes in proptest::collection::vec(any::<u8>(), 200)) {
        let mut tape = Tape::new(&bytes);
        let mut snapshot = machine(4);
        snapshot.nodes.push(node("m", &[("gpu", 4)]));
        let arrive = |snapshot: &mut Snapshot, tape: &mut Tape<'_>, created: i64| {
            let mut gang = job(&format!("g{created}"), None, i64::from(1 + tape.below(4)));
            (gang.created, gang.preemptible) = (created, false);
            snapshot.gangs.push(gang);
        };
        for created in 0..3 {
            arrive(&mut snapshot, &mut tape, created);
        }
        step(&mut snapshot, None);
        let mut head = job("head", None, 8);
        (head.priority, head.created) = (1, 3);
        snapshot.gangs.push(head);
        let mut ran: BTreeSet<String> = snapshot.running.iter().filter_map(|pod| pod.gang.clone()).collect();
        for created in 4.. {
            arrive(&mut snapshot, &mut tape, created);
            if step(&mut snapshot, Some("head")) {
                break;
            }
            prop_assert!(!ran.is_empty(), "all that ran have ended, and the head still waits: {snapshot:#?}");
            let running: Vec<String> = snapshot.running.iter().filter_map(|pod| pod.gang.clone()).collect();
            let ending = tape.pick(&running);
            snapshot.gangs.retain(|gang| gang.name != ending);
            snapshot.running.retain(|pod| pod.gang.as_ref() != Some(&ending));
            ran.remove(&ending);
        }
    }
}

/// Decides and starts what is placed; whether `wanted` was.
fn step(snapshot: &mut Snapshot, wanted: Option<&str>) -> bool {
    let plan = decided(snapshot, &SolveOptions { bypass: Bypass::Earmark, ..SolveOptions::default() });
    for (gang, roles) in &plan.placements {
        let nodes = roles["worker"].iter();
        snapshot.running.extend((0..).zip(nodes).map(|(index, node)| member(gang, "worker", index, node)));
    }
    wanted.is_some_and(|wanted| plan.placements.contains_key(wanted))
}
