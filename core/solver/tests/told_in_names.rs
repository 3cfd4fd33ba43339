//! Laws of the session that is told in names, and of deltas in columns.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;
mod tables;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use clusters::{Tape, seeded_bytes};
use gangplan_solver::document::{Deltas, Gone, Node, Running, Snapshot, SolveOptions};
use gangplan_solver::session::{
    Delta, DeltaColumns, DocumentSession, EndedColumns, NodeDeltas, RunningColumns, Session,
};
use gangplan_solver::{check, solve};
use tables::{columns, document, position};

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

fn pick<'a, T>(tape: &mut Tape<'_>, list: &'a [T]) -> &'a T {
    &list[usize::from(tape.below(u8::try_from(list.len()).unwrap()))]
}

/// Something that is new, other or gone.
fn random_deltas(tape: &mut Tape<'_>, snapshot: &Snapshot, step: usize) -> Deltas {
    let mut deltas = Deltas::default();
    let node = pick(tape, &snapshot.nodes).clone();
    match tape.below(5) {
        0 => {
            let name = if tape.once_in(2) { node.name.clone() } else { format!("new-{step}") };
            let cpu = BTreeMap::from([("cpu".to_owned(), tape.below(20).to_string())]);
            let unschedulable = tape.once_in(3);
            deltas.nodes.push(Node { name, allocatable: cpu, unschedulable, ..node });
        }
        1 if snapshot.nodes.len() > 1 => deltas.gone.nodes.push(node.name),
        2 if !snapshot.gangs.is_empty() => {
            let gang = pick(tape, &snapshot.gangs);
            deltas.gone.gangs.push(gang.name.clone());
        }
        3 if !snapshot.running.is_empty() => {
            deltas.gone.running.push(pick(tape, &snapshot.running).name.clone());
        }
        _ => {
            let requests = BTreeMap::from([("cpu".to_owned(), tape.below(4).to_string())]);
            let name = format!("pod-{}", tape.below(9));
            deltas.running.push(Running { name, node: node.name, requests, ..Running::default() });
        }
    }
    deltas
}

#[test]
fn a_session_told_in_names_plans_as_its_snapshot_after_every_delta() {
    let (mut changed, mut booked) = (0, 0);
    let options = SolveOptions::default();
    for seed in 0..120 {
        let bytes = seeded_bytes(seed, 900);
        let mut tape = Tape::new(&bytes);
        let mut session = DocumentSession::open(document(&columns(&mut tape))).unwrap();
        for step in 1..10 {
            let deltas = random_deltas(&mut tape, session.document(), step);
            let epoch = session.epoch();
            let effective = session.apply(2 * step as u64, &deltas).unwrap();
            assert_eq!(session.epoch(), epoch + u64::from(effective));
            changed += u32::from(effective);
            assert!(!session.apply(2 * step as u64 + 1, &deltas).unwrap(), "said twice: {deltas:?}");
            let snapshot = session.document().clone();
            let plan = session.plan(&options, &never()).unwrap();
            assert_eq!(plan, solve(&snapshot, &options, &never()).unwrap(), "seed {seed}: {deltas:?}");
            assert_eq!(check(&snapshot, &plan).unwrap(), [], "seed {seed}: {deltas:?}");
            if tape.once_in(3) {
                let decisions = session.solve(&options, &never()).unwrap();
                assert_eq!(session.commit(&decisions).unwrap(), []);
                let held = session.document().running.len();
                assert_eq!(held, snapshot.running.len() + decisions.gangs.len());
                booked += decisions.gangs.len();
            }
        }
    }
    assert!(changed > 600 && booked > 200, "{changed} changed something, {booked} replicas were booked");
}

#[test]
fn deltas_that_are_wrong_leave_everything_as_it_was() {
    let bytes = seeded_bytes(7, 900);
    let mut session = DocumentSession::open(document(&columns(&mut Tape::new(&bytes)))).unwrap();
    let before = (session.document().clone(), session.epoch(), session.version());
    let gone = Gone { queues: vec!["root".to_owned()], ..Gone::default() };
    let wrong = Deltas { nodes: vec![Node::default()], gone, ..Deltas::default() };
    let error = session.apply(1, &wrong).unwrap_err();
    let gangplan_solver::Error::Invalid { problems, .. } = error else { unreachable!("nobody stops it") };
    assert!(problems.iter().any(|problem| problem.path == "$.nodes[0].name"), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.path == "$.gone.queues[0]"), "{problems:?}");
    let sorted = |mut snapshot: Snapshot| {
        snapshot.nodes.sort_by(|a, b| a.name.cmp(&b.name));
        snapshot.queues.sort_by(|a, b| a.name.cmp(&b.name));
        snapshot
    };
    let after = (session.document().clone(), session.epoch(), session.version());
    assert_eq!((sorted(after.0), after.1, after.2), (sorted(before.0), before.1, before.2));
}

#[test]
fn deltas_in_columns_do_what_single_ones_do() {
    let mut changed = 0;
    for seed in 0..300 {
        let bytes = seeded_bytes(seed, 900);
        let mut tape = Tape::new(&bytes);
        let rows = columns(&mut tape);
        let (nodes, roles) = (rows.nodes.names.len(), rows.roles.names.len());
        let node = position(&mut tape, nodes);
        let (ended, bound) = (position(&mut tape, roles), position(&mut tape, roles));
        let gone_gang = position(&mut tape, rows.gangs.names.len());
        let allocatable = vec![i64::from(tape.below(20)) * 1000, i64::from(tape.below(9)), 20];
        let (unschedulable, ready, to) = (tape.once_in(2), tape.once_in(2), position(&mut tape, nodes));
        let mut single = vec![Delta::GangRemoved { gang: gone_gang }];
        if ended != bound {
            single.push(Delta::ReplicaGone { role: ended, index: 0 });
        }
        single.push(Delta::NodeResized { node, allocatable: allocatable.clone() });
        single.push(Delta::NodeCordoned { node, unschedulable });
        single.push(Delta::NodeReady { node, ready });
        single.push(Delta::ReplicaBound { role: bound, index: 0, node: to, reserved: true });
        let together = DeltaColumns {
            gone_gangs: vec![gone_gang],
            ended: EndedColumns { roles: vec![ended], indexes: vec![0] },
            nodes: NodeDeltas {
                rows: vec![node],
                allocatable: allocatable.iter().map(|amount| vec![*amount]).collect(),
                unschedulable: vec![unschedulable],
                ready: vec![ready],
                ..NodeDeltas::default()
            },
            bound: RunningColumns {
                roles: vec![bound],
                indexes: vec![0],
                nodes: vec![to],
                reserved: vec![true],
            },
            ..DeltaColumns::default()
        };
        let mut one = Session::open(rows.clone()).unwrap();
        let mut other = Session::open(rows.clone()).unwrap();
        let mut named = DocumentSession::of(&mut Session::open(rows).unwrap());
        let effective = one.apply(1, &single).unwrap();
        assert_eq!(other.apply_columns(1, &together).unwrap(), effective);
        assert_eq!(named.apply_columns(1, &together).unwrap(), effective);
        assert_eq!(one.document(), other.document(), "seed {seed}");
        let options = SolveOptions::default();
        let plan = one.plan(&options, &never()).unwrap();
        assert_eq!(plan, named.plan(&options, &never()).unwrap(), "seed {seed}");
        assert_eq!(plan, solve(&one.document(), &options, &never()).unwrap(), "seed {seed}");
        changed += u32::from(effective);
    }
    assert!(changed > 250, "{changed}");
}
