//! Random histories of a session: deltas, and what a session must answer after each.
// Each test file uses some of it; a panic is how a test fails.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use gangplan_solver::document::{Queue, SolveOptions};
use gangplan_solver::session::{Columns, Delta, NONE, Session};
use gangplan_solver::solve;

use super::{add, by_name, columns, decide, document, gang, position, taint};
use crate::clusters::Tape;

/// How many deltas of a history changed something, and how many did not.
#[derive(Debug, Default, Clone, Copy)]
pub struct Effects {
    pub changed: usize,
    pub unchanged: usize,
}

/// A change of a cluster in columns.
pub fn random_delta(tape: &mut Tape<'_>, columns: &Columns, step: usize) -> Delta {
    let node = position(tape, columns.nodes.names.len());
    let role = position(tape, columns.roles.names.len());
    let index = i64::from(tape.below(u8::try_from(columns.roles.replicas[role as usize]).unwrap()));
    let amounts =
        vec![i64::from(tape.range(1, 17)) * 1000, i64::from(tape.below(6)), i64::from(tape.range(1, 20))];
    match tape.below(12) {
        0 => Delta::ReplicaGone { role, index },
        1 => Delta::PodBound { requests: amounts, queue: tape.pick(&[NONE, 0, 1]), node },
        2 if !columns.pods.nodes.is_empty() => {
            Delta::PodGone { pod: position(tape, columns.pods.nodes.len()) }
        }
        3 => Delta::NodeResized { node, allocatable: amounts },
        4 | 5 => Delta::NodeCordoned { node, unschedulable: tape.once_in(2) },
        6 if tape.once_in(4) => Delta::NodeRemoved { node },
        7 => Delta::NodeAdded {
            name: format!("new-{step}"),
            allocatable: amounts,
            labels: vec![
                ("zone".to_owned(), format!("zone-{}", tape.below(3))),
                ("rack".to_owned(), format!("rack-{}", tape.below(4))),
            ],
            taints: if tape.once_in(4) { vec![taint()] } else { vec![] },
        },
        8 => Delta::GangAdded(gang(tape, &format!("h{step}"))),
        9 if tape.once_in(2) => Delta::GangRemoved { gang: position(tape, columns.gangs.names.len()) },
        10 => Delta::QueueChanged(Queue {
            name: "low".to_owned(),
            parent: Some("root".to_owned()),
            limit: BTreeMap::from([("gpu".to_owned(), tape.range(2, 40).to_string())]),
            ..Queue::default()
        }),
        _ => Delta::ReplicaBound { role, index, node, reserved: tape.once_in(2) },
    }
}

/// Rows as a session counts them: those of the columns, then those that were added.
fn follow(columns: &mut Columns, delta: &Delta) {
    match delta {
        Delta::NodeAdded { name, .. } => columns.nodes.names.push(name.clone()),
        Delta::GangAdded(gang) => add(columns, gang),
        Delta::PodBound { node, .. } => columns.pods.nodes.push(*node),
        _ => {}
    }
}

/// A session decides as the documents do, and after every step of a history as a fresh one.
///
/// # Panics
/// If that does not hold.
pub fn hold(tape: &mut Tape<'_>, steps: usize) -> Effects {
    let mut rows = columns(tape);
    let mut session = Session::open(rows.clone()).unwrap();
    let options = SolveOptions { changes: false, ..SolveOptions::default() };
    let plan = solve(&document(&rows), &options, &AtomicBool::new(false)).unwrap();
    assert_eq!(by_name(&rows, &decide(&mut session)).0, plan.placements);
    let mut effects = Effects::default();
    for step in 1..=steps {
        let delta = random_delta(tape, &rows, step);
        let epoch = session.epoch();
        let effective = session.apply(step as u64, std::slice::from_ref(&delta)).unwrap();
        assert_eq!(session.epoch(), epoch + u64::from(effective));
        follow(&mut rows, &delta);
        if effective {
            effects.changed += 1;
        } else {
            effects.unchanged += 1;
        }
        let decisions = by_name(&rows, &decide(&mut session));
        let snapshot = session.snapshot();
        let fresh = by_name(&snapshot, &decide(&mut Session::open(snapshot.clone()).unwrap()));
        assert_eq!(decisions, fresh, "step {step}: {delta:?}");
        // Deltas that are known already change nothing, and older ones are refused.
        assert!(!session.apply(step as u64, std::slice::from_ref(&delta)).unwrap());
        assert!(session.apply(step as u64 - 1, &[]).is_err());
    }
    effects
}
