//! A gang that lost replicas gets new ones where the others are.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use clusters::{Tape, gang, node, pod, require, role, seeded_bytes, texts};
use gangplan_solver::document::{Deltas, Fill, Gang, Group, Ranks, Slice, Snapshot, SolveOptions, Spread};
use gangplan_solver::session::DocumentSession;
use gangplan_solver::{check, solve};

const LEVELS: [&str; 3] = ["zone", "rack", "node"];

/// Two zones of two racks of two nodes, and gangs that need one domain: as a whole, or a role or a group of them.
fn cluster(tape: &mut Tape<'_>) -> Snapshot {
    let mut snapshot =
        Snapshot { topology: vec!["zone".to_owned(), "rack".to_owned()], ..Snapshot::default() };
    for index in 0..8 {
        let mut machine = node(&format!("n{index}"), &[("cpu", tape.range(3, 10))]);
        machine.labels = texts(&[("zone", ["a", "b"][index / 4]), ("rack", ["a", "b", "c", "d"][index / 2])]);
        snapshot.nodes.push(machine);
    }
    snapshot.gangs = (0..3).map(|index| tied(tape, &format!("g{index}"))).collect();
    snapshot
}

fn tied(tape: &mut Tape<'_>, name: &str) -> Gang {
    let mut gang = gang(
        name,
        vec![
            role("a", i64::from(tape.range(2, 6)), &[("cpu", tape.range(1, 3))]),
            role("b", i64::from(tape.range(1, 4)), &[("cpu", 1)]),
        ],
    );
    let mut asked = require(tape.pick(&LEVELS));
    match tape.below(5) {
        0 => asked.slices.push(Slice { level: "node".to_owned(), size: 1 }),
        1 => asked.spread.push(Spread { level: "node".to_owned(), most: 6 }),
        2 => gang.roles[0].ranks = Some(Ranks::Ring),
        3 => gang.min_member = Some(2),
        _ => {}
    }
    match tape.below(3) {
        0 => gang.roles[0].topology = Some(asked),
        1 => gang.groups.push(Group {
            name: "all".to_owned(),
            roles: vec!["a".to_owned(), "b".to_owned()],
            topology: Some(asked),
            ..Group::default()
        }),
        _ => gang.topology = Some(asked),
    }
    gang
}

/// What a gang must have in one domain: roles, and the level.
fn tie(gang: &Gang) -> (Vec<&str>, &str) {
    let of_role = gang.roles[0].topology.as_ref();
    let of_all = gang.topology.as_ref().or_else(|| gang.groups.first()?.topology.as_ref());
    let roles = if of_role.is_some() { vec!["a"] } else { vec!["a", "b"] };
    (roles, of_role.or(of_all).unwrap().required.as_deref().unwrap())
}

/// The domains of a level in which replicas of some roles of a gang run.
fn domains(snapshot: &Snapshot, gang: &str, roles: &[&str], level: &str) -> BTreeSet<String> {
    let held = snapshot.running.iter().filter(|held| {
        held.gang.as_deref() == Some(gang) && held.role.as_deref().is_some_and(|role| roles.contains(&role))
    });
    held.map(|held| {
        let machine = snapshot.nodes.iter().find(|node| node.name == held.node).unwrap();
        machine.labels.get(level).unwrap_or(&machine.name).clone()
    })
    .collect()
}

/// Replicas end, and some of their room is taken by others.
fn losses(tape: &mut Tape<'_>, snapshot: &Snapshot, step: usize) -> Deltas {
    let mut deltas = Deltas::default();
    for held in snapshot.running.iter().filter(|held| held.gang.is_some()) {
        if tape.once_in(3) {
            deltas.gone.running.push(held.name.clone());
            if tape.once_in(4) {
                deltas.running.push(pod(&format!("{}-{step}", held.name), &held.node, &[("cpu", 1)]));
            }
        }
    }
    deltas
}

#[test]
fn what_a_gang_lost_comes_back_in_the_domain_of_the_rest_whichever_nodes_are_preferred() {
    for placement in [Fill::Pack, Fill::Spread] {
        let options = SolveOptions { placement, ..SolveOptions::default() };
        let (mut refilled, mut refused) = (0, 0);
        for seed in 0..250 {
            let bytes = seeded_bytes(seed, 900);
            let mut tape = Tape::new(&bytes);
            let mut session = DocumentSession::open(cluster(&mut tape)).unwrap();
            for step in 0..5 {
                let before = session.document().clone();
                let plan = session.plan(&options, &AtomicBool::new(false)).unwrap();
                assert_eq!(plan, solve(&before, &options, &AtomicBool::new(false)).unwrap(), "seed {seed}");
                assert_eq!(check(&before, &plan).unwrap(), [], "seed {seed}");
                let decisions = session.solve(&options, &AtomicBool::new(false)).unwrap();
                assert_eq!(session.commit(&decisions).unwrap(), []);
                let after = session.document().clone();
                for gang in &before.gangs {
                    let (roles, level) = tie(gang);
                    let found = domains(&after, &gang.name, &roles, level);
                    assert!(
                        found.len() <= 1,
                        "seed {seed}: {} lies in {found:?}, not in one {level}",
                        gang.name
                    );
                    let ran = !domains(&before, &gang.name, &roles, level).is_empty();
                    refilled += usize::from(ran && plan.placements.contains_key(&gang.name));
                    refused += usize::from(ran && plan.rejections.contains_key(&gang.name));
                }
                let deltas = losses(&mut tape, &after, step);
                session.apply(1 + step as u64, &deltas).unwrap();
            }
        }
        assert!(refilled > 300 && refused > 50, "{placement:?}: {refilled} {refused}");
    }
}
