//! Laws that hold for gangs with rules of every kind.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;
mod rich;
mod trial;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use clusters::{Tape, seeded_bytes};
use gangplan_solver::document::SolveOptions;
use gangplan_solver::solve;

#[test]
fn plans_for_gangs_with_rules_of_every_kind_keep_the_laws() {
    for seed in 0..1200 {
        rich::laws::hold(&seeded_bytes(seed, 500));
    }
    // Where the tape ends early, what comes last is as plain as can be.
    for seed in 0..1200_u16 {
        rich::laws::hold(&seeded_bytes(u64::from(seed), 20 + usize::from(seed % 40) * 12));
    }
}

/// Where the budget ends before an answer, what is said of the gang must be true all the same.
#[test]
fn plans_keep_the_laws_however_early_the_budget_ends() {
    for seed in 0..600 {
        let bytes = seeded_bytes(seed, 300);
        let (plain, mut tape) = (clusters::snapshot(&bytes), Tape::new(&bytes));
        let options = rich::options(&mut tape);
        let with_rules = rich::snapshot(&mut tape);
        for budget in [1, 60, 4000] {
            rich::laws::judge(&plain, &SolveOptions { budget, ..SolveOptions::default() }, &bytes);
            rich::laws::judge(&with_rules, &SolveOptions { budget, ..options.clone() }, &bytes);
        }
    }
}

/// The laws are worth what the random clusters show.
#[test]
fn the_random_clusters_reach_rules_stages_and_changes() {
    let mut seen = BTreeMap::<String, usize>::new();
    let mut note = |what: String| *seen.entry(what).or_default() += 1;
    for seed in 0..1200 {
        let bytes = seeded_bytes(seed, 500);
        let mut tape = Tape::new(&bytes);
        let options = rich::options(&mut tape);
        let snapshot = rich::snapshot(&mut tape);
        let plan = solve(&snapshot, &options, &AtomicBool::new(false)).unwrap();
        plan.placements.keys().for_each(|_| note("placed".to_owned()));
        plan.earmarks.keys().for_each(|_| note("earmark".to_owned()));
        for rejection in plan.rejections.values() {
            note(rejection.rule.clone());
            note(format!("proven {}", rejection.proven));
            rejection.changes.iter().for_each(|change| {
                let owner = match (&change.group, &change.role) {
                    (Some(_), _) => " of a group",
                    (_, Some(_)) => " of a role",
                    _ => "",
                };
                note(format!("{:?}{owner}", change.kind));
            });
        }
    }
    let wanted = [
        "placed",
        "earmark",
        "proven true",
        "Replicas of a role",
        "Level",
        "Limit",
        "Wait",
        "Request of a role",
        "Nodes",
        "Constraint of a role",
        "Constraint of a group",
        "QUEUE_CLOSED",
        "QUEUE_LIMIT_EXCEEDED",
        "QUEUE_DESERVED_EXCEEDED",
        "GUARANTEE_KEPT",
        "QUEUE_HEAD_WAITS",
        "NAMESPACE_QUOTA_EXCEEDED",
        "CAPACITY_INSUFFICIENT",
        "TOPOLOGY_TOO_SMALL",
        "TOPOLOGY_SPLIT",
        "SLICES_BROKEN",
        "SPREAD_EXCEEDED",
        "COMPANY_MISSING",
        "ZONE_TOO_SMALL",
        "GROUP_INCOMPLETE",
        "PACKING_IMPOSSIBLE",
    ];
    for what in wanted {
        assert!(seen.get(what).copied().unwrap_or(0) >= 2, "{what} is hardly seen: {seen:?}");
    }
}
