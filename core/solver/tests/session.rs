//! Laws of the session: columns and documents decide alike, and deltas lead where a fresh start leads.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;
mod tables;

use std::sync::atomic::AtomicBool;

use clusters::{Tape, seeded_bytes};
use gangplan_solver::document::SolveOptions;
use gangplan_solver::session::{Cause, Delta, Session};
use gangplan_solver::solve;
use tables::{by_name, columns, decide, document, history, position};

#[test]
fn columns_and_documents_decide_alike() {
    let (mut placed, mut refused) = (0, 0);
    for seed in 0..1500 {
        let bytes = seeded_bytes(seed, 400);
        let columns = columns(&mut Tape::new(&bytes));
        let options = SolveOptions { changes: false, ..SolveOptions::default() };
        let plan = solve(&document(&columns), &options, &AtomicBool::new(false)).unwrap();
        let decisions = decide(&mut Session::open(columns.clone()).unwrap());
        let (placements, mut names) = by_name(&columns, &decisions);
        assert_eq!(placements, plan.placements, "seed {seed}");
        names.sort();
        assert_eq!(names, plan.rejections.keys().cloned().collect::<Vec<_>>(), "seed {seed}");
        placed += placements.len();
        refused += names.len();
    }
    assert!(placed > 1000 && refused > 500, "{placed} placed, {refused} refused");
}

#[test]
fn a_session_decides_as_a_fresh_one_after_every_step_of_a_history() {
    let (mut changed, mut unchanged) = (0, 0);
    for seed in 0..250 {
        let effects = history::hold(&mut Tape::new(&seeded_bytes(seed, 1200)), 24);
        changed += effects.changed;
        unchanged += effects.unchanged;
    }
    assert!(changed > 2000 && unchanged > 200, "{changed} changed something, {unchanged} did not");
}

#[test]
fn a_commit_books_whole_gangs_once() {
    let (mut booked, mut conflicts) = (0, 0);
    for seed in 0..400 {
        let bytes = seeded_bytes(seed, 600);
        let mut tape = Tape::new(&bytes);
        let rows = columns(&mut tape);
        let mut session = Session::open(rows.clone()).unwrap();
        let decisions = decide(&mut session);
        let before = session.snapshot().running.roles.len();
        if tape.once_in(2) {
            let node = position(&mut tape, rows.nodes.names.len());
            session.apply(1, &[Delta::NodeCordoned { node, unschedulable: true }]).unwrap();
        }
        let found = session.commit(&decisions).unwrap();
        let lost: Vec<u32> = found.iter().map(|conflict| conflict.gang).collect();
        let expected = decisions.gangs.iter().filter(|gang| !lost.contains(gang)).count();
        assert_eq!(session.snapshot().running.roles.len(), before + expected, "seed {seed}");
        booked += expected;
        conflicts += lost.len();
        // What was booked is not decided again, and the same decisions do not hold any more.
        let again = decide(&mut session);
        assert!(again.gangs.iter().all(|gang| lost.contains(gang) || !decisions.gangs.contains(gang)));
        let twice = session.commit(&decisions).unwrap();
        let mut gangs = decisions.gangs.clone();
        gangs.dedup();
        assert_eq!(twice.len(), gangs.len());
        assert!(twice.iter().all(|conflict| lost.contains(&conflict.gang) || conflict.cause == Cause::Gang));
    }
    assert!(booked > 1000 && conflicts > 20, "{booked} replicas booked, {conflicts} conflicts");
}

#[test]
fn shuffled_rows_give_the_same_decisions() {
    for seed in 0..300 {
        let bytes = seeded_bytes(seed, 700);
        let mut tape = Tape::new(&bytes);
        let columns = columns(&mut tape);
        let mut order: Vec<usize> = (0..columns.nodes.names.len()).collect();
        tape.shuffle(&mut order);
        let mut shuffled = columns.clone();
        let nodes = &mut shuffled.nodes;
        nodes.names = order.iter().map(|row| columns.nodes.names[*row].clone()).collect();
        for (column, from) in nodes.allocatable.iter_mut().zip(&columns.nodes.allocatable) {
            *column = order.iter().map(|row| from[*row]).collect();
        }
        for (column, from) in nodes.labels.iter_mut().zip(&columns.nodes.labels) {
            column.codes = order.iter().map(|row| from.codes[*row]).collect();
        }
        nodes.taints = order.iter().map(|row| columns.nodes.taints[*row]).collect();
        nodes.ready = order.iter().map(|row| columns.nodes.ready[*row]).collect();
        nodes.unschedulable = order.iter().map(|row| columns.nodes.unschedulable[*row]).collect();
        let moved =
            |node: &u32| u32::try_from(order.iter().position(|row| *row == *node as usize).unwrap()).unwrap();
        shuffled.running.nodes = columns.running.nodes.iter().map(moved).collect();
        shuffled.pods.nodes = columns.pods.nodes.iter().map(moved).collect();
        let one = by_name(&columns, &decide(&mut Session::open(columns.clone()).unwrap()));
        let other = by_name(&shuffled, &decide(&mut Session::open(shuffled.clone()).unwrap()));
        assert_eq!(one, other, "seed {seed}");
    }
}
