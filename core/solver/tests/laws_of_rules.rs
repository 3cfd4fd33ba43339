//! Laws that hold for every snapshot, where gangs have every rule, run in part, and any options are set.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use clusters::rules::{options, snapshot_with_rules};
use clusters::{Tape, member, seeded_bytes};
use gangplan_solver::document::{
    Bypass, Change, ChangeKind, Fill, Node, Plan, Snapshot, SolveOptions, decode, encode,
};
use gangplan_solver::{check, solve};
use proptest::collection::vec;
use proptest::prelude::*;

fn tapes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..620)
}

fn plan_with(snapshot: &Snapshot, options: &SolveOptions) -> Plan {
    solve(snapshot, options, &AtomicBool::new(false)).unwrap()
}

/// A snapshot and options from one tape.
fn question(bytes: &[u8]) -> (Snapshot, SolveOptions) {
    let (few, rest) = bytes.split_at(bytes.len().min(8));
    (snapshot_with_rules(rest), options(&mut Tape::new(few)))
}

/// The snapshot in which what the plan places runs.
fn carried_out(snapshot: &Snapshot, plan: &Plan) -> Snapshot {
    let mut after = snapshot.clone();
    for (gang, roles) in &plan.placements {
        for (role, nodes) in roles {
            let runs = |index: &i64| {
                snapshot.running.iter().any(|held| {
                    (held.gang.as_ref(), held.role.as_ref(), held.index)
                        == (Some(gang), Some(role), Some(*index))
                })
            };
            for (node, index) in nodes.iter().zip((0..).filter(|index| !runs(index))) {
                after.running.push(member(gang, role, index, node));
            }
        }
    }
    after
}

/// How many replicas of a gang wait.
fn waiting(snapshot: &Snapshot, gang: &str) -> usize {
    let facts = snapshot.gangs.iter().find(|known| known.name == gang).unwrap();
    let all: i64 = facts.roles.iter().map(|role| role.replicas).sum();
    let running = snapshot.running.iter().filter(|held| held.gang.as_deref() == Some(gang));
    usize::try_from(all).unwrap() - running.count()
}

/// Whether a gang may do with fewer replicas than it asks for.
fn is_elastic(snapshot: &Snapshot, gang: &str) -> bool {
    let facts = snapshot.gangs.iter().find(|known| known.name == gang).unwrap();
    facts.min_member.is_some()
        || !facts.min_groups.is_empty()
        || facts.roles.iter().any(|role| role.min.is_some_and(|min| min < role.replicas))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_passes_the_check(tape in tapes()) {
        let (snapshot, options) = question(&tape);
        let plan = plan_with(&snapshot, &options);
        prop_assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
    }

    #[test]
    fn a_small_budget_costs_proofs_and_never_correctness(tape in tapes(), budget in 1..3000_i64) {
        let (snapshot, options) = question(&tape);
        let plan = plan_with(&snapshot, &SolveOptions { budget, ..options });
        prop_assert_eq!(check(&snapshot, &plan).unwrap(), vec![]);
    }

    #[test]
    fn a_waiting_gang_is_placed_or_refused_and_whole_unless_it_is_elastic(tape in tapes()) {
        let (snapshot, options) = question(&tape);
        let plan = plan_with(&snapshot, &options);
        for gang in &snapshot.gangs {
            let waits = waiting(&snapshot, &gang.name);
            let placed = plan.placements.get(&gang.name).map(|roles| roles.values().map(Vec::len).sum::<usize>());
            prop_assert_eq!(plan.rejections.contains_key(&gang.name), waits > 0 && placed.is_none());
            if let Some(placed) = placed {
                prop_assert!((1..=waits).contains(&placed), "{placed} of {waits}");
                prop_assert!(placed == waits || is_elastic(&snapshot, &gang.name));
            }
        }
    }

    #[test]
    fn shuffled_input_gives_the_same_bytes(tape in tapes(), order in vec(any::<u8>(), 96)) {
        let (snapshot, options) = question(&tape);
        let mut shuffled = snapshot.clone();
        let mut order = Tape::new(&order);
        order.shuffle(&mut shuffled.nodes);
        order.shuffle(&mut shuffled.queues);
        order.shuffle(&mut shuffled.gangs);
        order.shuffle(&mut shuffled.running);
        for gang in &mut shuffled.gangs {
            order.shuffle(&mut gang.roles);
            order.shuffle(&mut gang.groups);
            order.shuffle(&mut gang.traffic);
        }
        prop_assert_eq!(encode(&plan_with(&snapshot, &options)), encode(&plan_with(&shuffled, &options)));
        prop_assert_eq!(&decode::<Snapshot>(&encode(&snapshot)).unwrap(), &snapshot);
    }

    /// What one solve refuses with proof the next one refuses too, and nobody grows whom the first left no room.
    #[test]
    fn once_a_plan_is_carried_out_nothing_more_fits(tape in tapes()) {
        let (snapshot, options) = question(&tape);
        let options = SolveOptions { bypass: Bypass::Free, ..options };
        let plan = plan_with(&snapshot, &options);
        if plan.rejections.values().all(|rejection| rejection.proven) {
            let again = plan_with(&carried_out(&snapshot, &plan), &options);
            prop_assert_eq!(again.placements, BTreeMap::new());
        }
    }

    #[test]
    fn every_change_admits_the_gang_as_things_stand(tape in tapes()) {
        let (snapshot, options) = question(&tape);
        // What queues deserve may depend on who waits, and fewer do here.
        let options = SolveOptions { bypass: Bypass::Free, nonpreemptible_within_deserved: false, ..options };
        let plan = plan_with(&snapshot, &options);
        for (name, rejection) in &plan.rejections {
            // Others that wait might take the room; if they run in part they stay.
            let mut stand = carried_out(&snapshot, &plan);
            let runs = |gang: &str| stand.running.iter().any(|held| held.gang.as_deref() == Some(gang));
            if plan.rejections.keys().any(|other| other != name && runs(other)) {
                continue;
            }
            stand.gangs.retain(|gang| gang.name == *name || !plan.rejections.contains_key(&gang.name));
            // Others that may still grow might take it too.
            if stand.gangs.iter().any(|gang| gang.name != *name && waiting(&stand, &gang.name) > 0) {
                continue;
            }
            for change in &rejection.changes {
                let mut stand = stand.clone();
                // As if nothing ran, where it was tried so.
                if change.alone {
                    stand.running.clear();
                    stand.gangs.retain(|gang| gang.name == *name);
                }
                let Some(changed) = apply(&stand, name, change) else { continue };
                let placed = plan_with(&changed, &options).placements.contains_key(name);
                prop_assert!(placed, "{}: {} ({})", name, change.text, rejection.message);
            }
        }
    }
}

/// The snapshot with a change; none where a document cannot say it.
fn apply(snapshot: &Snapshot, name: &str, change: &Change) -> Option<Snapshot> {
    let mut changed = snapshot.clone();
    let gang = changed.gangs.iter_mut().find(|gang| gang.name == name)?;
    let role = gang.roles.iter_mut().find(|role| Some(&role.name) == change.role.as_ref());
    let to = || change.to.clone().unwrap();
    match change.kind {
        ChangeKind::Replicas => {
            // Minimums come down with them.
            let (role, count) = (role?, to().parse::<i64>().unwrap());
            let fewer = role.replicas - count;
            role.replicas = count;
            role.min = role.min.map(|min| min.min(count));
            gang.min_member = gang.min_member.map(|min| (min - fewer).max(0));
        }
        ChangeKind::Request => {
            role?.requests.insert(change.resource.clone()?, to());
        }
        ChangeKind::Level => {
            let group = gang.groups.iter_mut().find(|group| Some(&group.name) == change.group.as_ref());
            let asked = match (group, role) {
                (Some(group), _) => group.topology.as_mut()?,
                (_, Some(role)) => role.topology.as_mut()?,
                _ => gang.topology.as_mut()?,
            };
            let before = asked.required.take();
            if to() == "cluster" { asked.preferred = before } else { asked.required = Some(to()) }
        }
        ChangeKind::Constraint => {
            let field = change.constraint.as_deref()?;
            let group = gang.groups.iter_mut().find(|group| Some(&group.name) == change.group.as_ref());
            if field == "single_zone" {
                role?.single_zone = false;
            } else if let Some(index) = field.strip_prefix("replica_affinity[") {
                role?.replica_affinity.remove(index.trim_end_matches(']').parse().unwrap());
            } else {
                let asked = match (group, role) {
                    (Some(group), _) => group.topology.as_mut()?,
                    (_, Some(role)) => role.topology.as_mut()?,
                    _ => gang.topology.as_mut()?,
                };
                match field {
                    "topology.slices" => asked.slices.clear(),
                    "topology.spread" => asked.spread.clear(),
                    _ => asked.required = None,
                }
            }
        }
        ChangeKind::Limit => {
            let (resource, to) = (change.resource.clone()?, to());
            if let Some(queue) = &change.queue {
                changed.queues.iter_mut().find(|known| known.name == *queue)?.limit.insert(resource, to);
            } else {
                changed.quotas.first_mut()?.hard.insert(resource, to);
            }
        }
        ChangeKind::Nodes => {
            let like = changed.nodes.iter().find(|node| Some(&node.name) == change.node.as_ref())?.clone();
            let count = to().parse::<usize>().unwrap();
            changed
                .nodes
                .extend((0..count).map(|index| Node { name: format!("new-{index}"), ..like.clone() }));
        }
        ChangeKind::Wait => {
            changed.gangs.retain(|gang| Some(&gang.name) != change.gang.as_ref());
            changed.running.retain(|held| held.gang.is_none() || held.gang != change.gang);
        }
        ChangeKind::Free => return None,
    }
    Some(changed)
}

/// The laws are worth what the random clusters show.
#[test]
fn random_clusters_reach_every_rule() {
    let mut seen = BTreeMap::<String, usize>::new();
    let mut note = |what: &str| *seen.entry(what.to_owned()).or_default() += 1;
    for seed in 0..3000 {
        let (snapshot, options) = question(&seeded_bytes(seed, 620));
        let plan = plan_with(&snapshot, &options);
        for gang in &snapshot.gangs {
            let is_placed = plan.placements.contains_key(&gang.name);
            let runs = snapshot.running.iter().any(|held| held.gang.as_ref() == Some(&gang.name));
            let units =
                gang.topology.iter().chain(gang.groups.iter().filter_map(|group| group.topology.as_ref()));
            for asked in units.chain(gang.roles.iter().filter_map(|role| role.topology.as_ref())) {
                let facts = [
                    ("required", asked.required.is_some()),
                    ("preferred", asked.preferred.is_some()),
                    ("slices", !asked.slices.is_empty()),
                    ("spread", !asked.spread.is_empty()),
                    ("balanced", asked.balanced),
                ];
                for (what, _) in facts.into_iter().filter(|(_, given)| *given) {
                    note(&format!("{what}, placed: {is_placed}, runs: {runs}"));
                    if options.placement == Fill::Spread {
                        note(&format!("{what}, spread out"));
                    }
                }
            }
            let roles = &gang.roles;
            let facts = [
                ("groups", !gang.groups.is_empty()),
                ("minimum", gang.min_member.is_some()),
                ("zones", roles.iter().any(|role| role.single_zone)),
                ("company", roles.iter().any(|role| role.replica_affinity.iter().any(|term| !term.anti))),
                ("apart", roles.iter().any(|role| role.replica_affinity.iter().any(|term| term.anti))),
                ("elastic", is_elastic(&snapshot, &gang.name)),
            ];
            for (what, _) in facts.into_iter().filter(|(_, given)| *given) {
                note(&format!("{what}, placed: {is_placed}, runs: {runs}"));
            }
        }
        for rejection in plan.rejections.values() {
            note(&rejection.rule);
            rejection.changes.iter().for_each(|change| note(&format!("{:?}", change.kind)));
        }
    }
    let both = ["required", "preferred", "slices", "spread", "balanced", "groups", "minimum"];
    let both = both.into_iter().chain(["zones", "company", "apart", "elastic"]);
    let mut wanted: Vec<String> = both
        .flat_map(|what| [(true, true), (true, false), (false, true), (false, false)].map(|of| (what, of)))
        .map(|(what, (placed, runs))| format!("{what}, placed: {placed}, runs: {runs}"))
        .collect();
    let codes = [
        "QUEUE_LIMIT_EXCEEDED",
        "NAMESPACE_QUOTA_EXCEEDED",
        "GUARANTEE_KEPT",
        "QUEUE_HEAD_WAITS",
        "SLICES_BROKEN",
        "SPREAD_EXCEEDED",
        "COMPANY_MISSING",
        "COMPANY_UNWANTED",
        "ZONE_TOO_SMALL",
        "TOPOLOGY_SPLIT",
        "Constraint",
        "Replicas",
        "Level",
        "Limit",
        "Wait",
        "Request",
        "Nodes",
    ];
    wanted.extend(codes.map(str::to_owned));
    for what in wanted {
        assert!(seen.get(&what).copied().unwrap_or(0) >= 5, "{what} is hardly seen: {seen:?}");
    }
}
