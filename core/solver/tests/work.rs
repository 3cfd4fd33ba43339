//! How much work a solve is, in units that are the same on every machine.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use gangplan_solver::document::SolveOptions;
use gangplan_solver::session::{Columns, LabelColumn, NONE, Session};

/// Racks of 16 nodes of eight GPUs, blocks of ten racks; gangs of workers, with or without servers beside them.
fn columns(nodes: u32, gangs: u32, servers: bool) -> Columns {
    let mut columns = Columns {
        resources: ["cpu", "gpu", "pods"].map(str::to_owned).to_vec(),
        topology: vec!["block".to_owned(), "rack".to_owned()],
        ..Columns::default()
    };
    columns.nodes.names = (0..nodes).map(|node| format!("n{node:05}")).collect();
    columns.nodes.allocatable = [128_000, 8, 110].map(|amount| vec![amount; nodes as usize]).to_vec();
    for (key, size) in [("block", 160), ("rack", 16)] {
        let values = (0..nodes.div_ceil(size)).map(|value| format!("{key}{value:05}")).collect();
        let codes = (0..nodes).map(|node| node / size).collect();
        columns.nodes.labels.push(LabelColumn { key: key.to_owned(), values, codes });
    }
    columns.roles.requests = vec![Vec::new(); 3];
    columns.pods.requests = vec![Vec::new(); 3];
    for gang in 0..gangs {
        columns.gangs.names.push(format!("g{gang:05}"));
        columns.gangs.required.push(if servers && gang % 2 == 0 { 0 } else { NONE });
        let roles = [("worker", if servers { 3 + i64::from(gang % 5) } else { 10 }, 1), ("ps", 4, 0)];
        for (name, replicas, gpus) in roles.into_iter().take(1 + usize::from(servers)) {
            columns.roles.gangs.push(gang);
            columns.roles.names.push(name.to_owned());
            columns.roles.replicas.push(replicas);
            for (column, amount) in columns.roles.requests.iter_mut().zip([4000, gpus, 1]) {
                column.push(amount);
            }
        }
    }
    columns
}

fn work(nodes: u32, gangs: u32, servers: bool) -> i64 {
    let mut session = Session::open(columns(nodes, gangs, servers)).unwrap();
    let decisions = session.solve(&SolveOptions::default(), &AtomicBool::new(false)).unwrap();
    assert!(decisions.refused.is_empty());
    decisions.work.cells + decisions.work.nodes
}

#[test]
fn work_grows_in_proportion_to_nodes_and_gangs() {
    for servers in [false, true] {
        let once = work(1250, 500, servers);
        for (nodes, gangs) in [(2500, 500), (1250, 1000), (2500, 1000)] {
            let more = work(nodes, gangs, servers);
            assert!(more * 10 <= once * 23, "{once} became {more} at {nodes} nodes and {gangs} gangs");
        }
    }
}
