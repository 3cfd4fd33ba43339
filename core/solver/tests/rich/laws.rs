//! What must hold for every cluster and every plan for it.

use std::sync::atomic::AtomicBool;

use gangplan_solver::document::{ChangeKind, Plan, Rejection, Snapshot, SolveOptions, Stage, encode};
use gangplan_solver::{check, solve};

use crate::clusters::Tape;
use crate::trial::{alone, apply, as_things_stand, next_smaller};

/// The laws, one after the other, for the cluster of a tape.
///
/// # Panics
/// If one does not hold.
pub fn hold(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let options = super::options(&mut tape);
    let snapshot = super::snapshot(&mut tape);
    judge(&snapshot, &options, &bytes[bytes.len() / 2..]);
}

/// The laws for a snapshot; its rows are shuffled by a tape.
///
/// # Panics
/// If one does not hold.
pub fn judge(snapshot: &Snapshot, options: &SolveOptions, order: &[u8]) {
    let plan = plan(snapshot, options);
    let violations = check(snapshot, &plan).expect("the snapshot was solved");
    assert!(violations.is_empty(), "{violations:#?}\n{}", text(snapshot));
    let mut shuffled = snapshot.clone();
    super::shuffle(&mut shuffled, &mut Tape::new(order));
    assert_eq!(encode(&plan), encode(&self::plan(&shuffled, options)), "{}", text(snapshot));
    for (name, rejection) in &plan.rejections {
        changes_admit(snapshot, &plan, name, rejection, options);
    }
}

fn changes_admit(
    snapshot: &Snapshot,
    plan: &Plan,
    name: &str,
    rejection: &Rejection,
    options: &SolveOptions,
) {
    let before = as_things_stand(snapshot, plan, name);
    let placed_with = |changed: &Snapshot, budget: i64| {
        let options = SolveOptions { budget, ..options.clone() };
        self::plan(changed, &options).placements.contains_key(name)
    };
    let placed = |changed: &Snapshot| placed_with(changed, options.budget);
    // Company may have come since, and shares depend on who asks.
    let own_turn = !matches!(rejection.stage, Stage::Fairness | Stage::Earmark)
        && rejection.rule != "QUEUE_DESERVED_EXCEEDED"
        && !snapshot.gangs.iter().flat_map(|gang| &gang.roles).any(|role| !role.replica_affinity.is_empty());
    assert!(
        !own_turn || !rejection.proven || !placed(&before),
        "{name} is placed when asked alone: {}\n{}",
        rejection.message,
        text(&before)
    );
    let usual = SolveOptions::default().budget;
    for change in &rejection.changes {
        // What queues deserve depends on who asks, and alone nobody else does.
        let within_deserved = options.nonpreemptible_within_deserved && !change.alone;
        let placed_with = |changed: &Snapshot, budget: i64| {
            let options =
                SolveOptions { budget, nonpreemptible_within_deserved: within_deserved, ..options.clone() };
            self::plan(changed, &options).placements.contains_key(name)
        };
        let before = if change.alone { alone(&before, name) } else { before.clone() };
        let mut changed = before.clone();
        apply(&mut changed, name, change);
        // How many nodes would do is computed for the domain that they join; and that running replicas request less,
        // or more is free than must be, is more to search; so are the nodes of a cluster on which nothing runs. A small
        // budget may end there.
        let budget = match change.kind {
            _ if change.alone => options.budget.max(usual),
            ChangeKind::Nodes | ChangeKind::Request | ChangeKind::Free => options.budget.max(usual),
            _ => options.budget,
        };
        assert!(placed_with(&changed, budget), "{name}: {}\n{}", change.text, text(&changed));
        if own_turn
            && budget >= usual
            && let Some(smaller) = next_smaller(&before, name, change)
        {
            assert!(
                !placed_with(&smaller, budget),
                "{name}: less than this would do: {}\n{}",
                change.text,
                text(&smaller)
            );
        }
    }
}

fn plan(snapshot: &Snapshot, options: &SolveOptions) -> Plan {
    solve(snapshot, options, &AtomicBool::new(false)).expect("the snapshot is sound")
}

fn text(snapshot: &Snapshot) -> String {
    String::from_utf8_lossy(&encode(snapshot)).into_owned()
}
