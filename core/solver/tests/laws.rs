//! Laws that hold for every snapshot.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;
mod trial;

use std::sync::atomic::AtomicBool;

use clusters::{Tape, plan_for, snapshot};
use gangplan_solver::document::{ChangeKind, Plan, Snapshot, SolveOptions, decode, encode};
use gangplan_solver::{check, evaluate, solve};
use proptest::collection::vec;
use proptest::prelude::*;
use trial::{add_nodes, alone, amount, apply, as_things_stand, set_replicas};

fn tapes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..260)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_passes_the_check(tape in tapes()) {
        let snapshot = snapshot(&tape);
        let plan = plan_for(&snapshot);
        prop_assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
    }

    #[test]
    fn a_waiting_gang_is_placed_whole_or_refused(tape in tapes()) {
        let snapshot = snapshot(&tape);
        let plan = plan_for(&snapshot);
        for gang in &snapshot.gangs {
            let missing: i64 = gang.roles.iter().map(|role| role.replicas).sum::<i64>()
                - i64::try_from(snapshot.running.iter().filter(|held| held.gang.as_ref() == Some(&gang.name)).count())
                    .unwrap();
            let placed = plan.placements.get(&gang.name).map(|roles| roles.values().map(Vec::len).sum::<usize>());
            let refused = plan.rejections.contains_key(&gang.name);
            if missing == 0 {
                prop_assert!(placed.is_none() && !refused);
            } else {
                prop_assert_eq!(placed, (!refused).then(|| usize::try_from(missing).unwrap()));
            }
        }
    }

    #[test]
    fn shuffled_input_gives_the_same_bytes(tape in tapes(), order in vec(any::<u8>(), 64)) {
        let snapshot = snapshot(&tape);
        let mut shuffled = snapshot.clone();
        let mut order = Tape::new(&order);
        order.shuffle(&mut shuffled.nodes);
        order.shuffle(&mut shuffled.queues);
        order.shuffle(&mut shuffled.gangs);
        order.shuffle(&mut shuffled.running);
        for gang in &mut shuffled.gangs {
            order.shuffle(&mut gang.roles);
            order.shuffle(&mut gang.traffic);
        }
        prop_assert_eq!(encode(&plan_for(&snapshot)), encode(&plan_for(&shuffled)));
    }

    #[test]
    fn documents_survive_the_round_trip(tape in tapes()) {
        let snapshot = snapshot(&tape);
        let plan = plan_for(&snapshot);
        prop_assert_eq!(&decode::<Snapshot>(&encode(&snapshot)).unwrap(), &snapshot);
        prop_assert_eq!(&decode::<Plan>(&encode(&plan)).unwrap(), &plan);
    }

    #[test]
    fn traffic_is_counted_alike_by_the_search_and_by_the_evaluation(tape in tapes()) {
        let snapshot = snapshot(&tape);
        let plan = plan_for(&snapshot);
        prop_assert_eq!(evaluate(&snapshot, &plan.placements).unwrap(), plan.traffic);
    }

    #[test]
    fn every_change_admits_the_gang_as_things_stand(tape in tapes()) {
        let snapshot = snapshot(&tape);
        let plan = plan_for(&snapshot);
        for (name, rejection) in &plan.rejections {
            for change in &rejection.changes {
                // As if nothing ran, where it was tried so.
                let stands = || {
                    let stands = as_things_stand(&snapshot, &plan, name);
                    if change.alone { alone(&stands, name) } else { stands }
                };
                prop_assert!(!change.alone || rejection.impossible);
                let mut changed = stands();
                apply(&mut changed, name, change);
                prop_assert!(plan_for(&changed).placements.contains_key(name), "{}: {}", name, change.text);
                if change.kind == ChangeKind::Replicas {
                    let mut larger = stands();
                    let next = change.to.as_ref().unwrap().parse::<i64>().unwrap() + 1;
                    set_replicas(&mut larger, name, change.role.as_ref().unwrap(), next);
                    prop_assert!(!plan_for(&larger).placements.contains_key(name), "{} more also fits", name);
                }
                if change.kind == ChangeKind::Nodes {
                    let mut fewer = stands();
                    let count: usize = change.to.as_ref().unwrap().parse().unwrap();
                    add_nodes(&mut fewer, change, count - 1);
                    prop_assert!(!plan_for(&fewer).placements.contains_key(name), "{} with fewer nodes", name);
                }
                // In a document what runs asks for less too, which leaves more room than the change says.
                let runs = snapshot.running.iter().any(|held| held.gang.as_ref() == Some(name));
                if change.kind == ChangeKind::Request && !runs {
                    let mut larger = stands();
                    let mut next = change.clone();
                    let resource = change.resource.as_ref().unwrap();
                    let gang = snapshot.gangs.iter().find(|gang| gang.name == *name).unwrap();
                    let role = gang.roles.iter().find(|role| Some(&role.name) == change.role.as_ref()).unwrap();
                    // From eight cores on requests are tried in whole cores, below in tenths of one.
                    let step = match amount(resource, &role.requests[resource]) {
                        8000.. if resource == "cpu" => 1000,
                        _ if resource == "cpu" => 100,
                        _ => 1,
                    };
                    let larger_request = amount(resource, change.to.as_ref().unwrap()) + step;
                    next.to = Some(gangplan_solver::document::format_quantity(resource, larger_request));
                    apply(&mut larger, name, &next);
                    prop_assert!(!plan_for(&larger).placements.contains_key(name), "{} with a larger request", name);
                }
            }
        }
    }

    #[test]
    fn a_refusal_never_changes_when_it_is_asked_again(tape in tapes()) {
        let snapshot = snapshot(&tape);
        let plan = plan_for(&snapshot);
        for (name, rejection) in &plan.rejections {
            let again = plan_for(&as_things_stand(&snapshot, &plan, name));
            let again = again.rejections.get(name);
            prop_assert!(again.is_some(), "{} is placed when asked alone: {}", name, rejection.message);
            prop_assert_eq!(&again.unwrap().rule, &rejection.rule);
        }
    }

    #[test]
    fn the_numbers_of_a_refusal_say_that_it_does_not_fit(tape in tapes()) {
        let snapshot = snapshot(&tape);
        let plan = plan_for(&snapshot);
        for (name, rejection) in &plan.rejections {
            prop_assert!(rejection.proven);
            if let (Some(needs), Some(has)) = (&rejection.needs, &rejection.has) {
                let resource = rejection.resource.as_ref().unwrap();
                prop_assert!(amount(resource, has) < amount(resource, needs), "{}", rejection.message);
            }
            let gang = snapshot.gangs.iter().find(|gang| gang.name == *name).unwrap();
            for level in &rejection.levels {
                prop_assert!(level.have.iter().all(|(role, have)| *have <= level.need[role]));
                prop_assert_eq!(level.limited_by.is_none(), level.have == level.need);
                if rejection.stage != gangplan_solver::document::Stage::Quota
                    && Some(&level.level) == gang.topology.as_ref().and_then(|asked| asked.required.as_ref())
                {
                    prop_assert!(level.have != level.need, "{} fits in {}", name, level.domain);
                }
            }
        }
    }

    #[test]
    fn a_small_budget_costs_proofs_and_never_correctness(tape in tapes()) {
        let snapshot = snapshot(&tape);
        let options = SolveOptions { budget: 1, ..SolveOptions::default() };
        let plan = solve(&snapshot, &options, &AtomicBool::new(false)).unwrap();
        prop_assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
    }
}

/// The laws are worth what the random clusters show: every refusal, every change, both searches.
#[test]
fn random_clusters_reach_every_rule_and_change() {
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    let mut note = |what: String| *seen.entry(what).or_default() += 1;
    for seed in 0..1500 {
        let snapshot = snapshot(&clusters::seeded_bytes(seed, 260));
        let plan = plan_for(&snapshot);
        if plan.stats.cells > 0 {
            note("exact".to_owned());
        }
        plan.placements.keys().for_each(|_| note("placed".to_owned()));
        for rejection in plan.rejections.values() {
            note(rejection.rule.clone());
            note(format!("impossible {}", rejection.impossible));
            rejection.changes.iter().for_each(|change| note(format!("{:?}", change.kind)));
            rejection.exclusions.iter().for_each(|exclusion| note(format!("excluded {}", exclusion.rule)));
        }
    }
    let wanted = [
        "exact",
        "placed",
        "impossible true",
        "impossible false",
        "Replicas",
        "Level",
        "Limit",
        "Wait",
        "Request",
        "Free",
        "Nodes",
        "QUEUE_CLOSED",
        "QUEUE_LIMIT_EXCEEDED",
        "CAPACITY_INSUFFICIENT",
        "TOPOLOGY_TOO_SMALL",
        "TOPOLOGY_SPLIT",
        "PACKING_IMPOSSIBLE",
        "NODE_SELECTOR_MISMATCH",
        "TAINT_NOT_TOLERATED",
        "excluded NODE_NOT_READY",
        "excluded NODE_CORDONED",
        "excluded NODE_OUTSIDE_TOPOLOGY",
        "excluded NODE_SELECTOR_MISMATCH",
        "excluded NODE_AFFINITY_MISMATCH",
        "excluded TAINT_NOT_TOLERATED",
    ];
    for what in wanted {
        assert!(seen.get(what).copied().unwrap_or(0) >= 10, "{what} is hardly seen: {seen:?}");
    }
}
