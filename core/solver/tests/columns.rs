//! What is wrong with columns is told, and never a panic.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;
mod tables;

use clusters::{Tape, seeded_bytes};
use gangplan_solver::Error;
use gangplan_solver::session::{Columns, Session};
use tables::{columns, decide};

/// Makes one column wrong.
type Change = fn(&mut Columns);

fn paths(columns: Columns) -> Vec<String> {
    match Session::open(columns).unwrap_err() {
        Error::Invalid { problems, .. } => problems.into_iter().map(|problem| problem.path).collect(),
        Error::Interrupted => panic!("nobody stopped it"),
    }
}

#[test]
fn every_wrong_column_is_told_with_its_path() {
    let bytes = seeded_bytes(3, 400);
    let good = columns(&mut Tape::new(&bytes));
    assert!(Session::open(good.clone()).is_ok());
    let changes: [(&str, Change); 16] = [
        ("$.nodes.names[1]", |columns| columns.nodes.names[1] = "n0".to_owned()),
        ("$.nodes.names[0]", |columns| columns.nodes.names[0].clear()),
        ("$.nodes.allocatable[0][2]", |columns| columns.nodes.allocatable[0][2] = -1),
        ("$.nodes.allocatable[1]", |columns| columns.nodes.allocatable[1].truncate(1)),
        ("$.nodes.allocatable", |columns| columns.nodes.allocatable.truncate(1)),
        ("$.nodes.labels[0].codes[1]", |columns| columns.nodes.labels[0].codes[1] = 77),
        ("$.nodes.taints[0]", |columns| columns.nodes.taints[0] = 5),
        ("$.topology[1]", |columns| columns.topology[1] = "row".to_owned()),
        ("$.gangs.queues[0]", |columns| columns.gangs.queues[0] = 9),
        ("$.gangs.required[0]", |columns| columns.gangs.required[0] = 3),
        ("$.roles.replicas[0]", |columns| columns.roles.replicas[0] = 0),
        ("$.roles.gangs[0]", |columns| columns.roles.gangs[0] = 99),
        ("$.roles.requests[2][0]", |columns| columns.roles.requests[2][0] = i64::MIN),
        ("$.running.nodes", |columns| columns.running.nodes.push(0)),
        ("$.pods.requests[0]", |columns| columns.pods.requests[0].push(1)),
        ("$.resources[1]", |columns| columns.resources[1] = "cpu".to_owned()),
    ];
    for (path, change) in changes {
        let mut wrong = good.clone();
        change(&mut wrong);
        assert!(paths(wrong).contains(&path.to_owned()), "{path}");
    }
}

#[test]
fn amounts_at_the_end_of_the_range_and_empty_clusters_are_no_trouble() {
    let bytes = seeded_bytes(5, 400);
    let mut columns = columns(&mut Tape::new(&bytes));
    for table in [&mut columns.nodes.allocatable, &mut columns.roles.requests, &mut columns.pods.requests] {
        table[0].iter_mut().for_each(|amount| *amount = i64::MAX);
    }
    decide(&mut Session::open(columns).unwrap());
    assert_eq!(decide(&mut Session::open(Columns::default()).unwrap()).gangs, Vec::<u32>::new());
    let mut lonely = Columns { resources: vec!["cpu".to_owned()], ..Columns::default() };
    lonely.nodes.allocatable.push(vec![]);
    lonely.pods.requests.push(vec![]);
    lonely.gangs.names.push("g".to_owned());
    lonely.roles.gangs.push(0);
    lonely.roles.names.push("worker".to_owned());
    lonely.roles.replicas.push(3);
    lonely.roles.requests.push(vec![1]);
    assert_eq!(decide(&mut Session::open(lonely).unwrap()).refused.len(), 1);
}
