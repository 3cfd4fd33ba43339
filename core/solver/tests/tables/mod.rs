//! Random clusters in columns, for the tests of the session.
// Each test file uses some of it.
#![allow(dead_code, clippy::unwrap_used)]

pub mod history;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use gangplan_solver::document::{
    Closeness, Gang, Node, NodeSelectorTerm, Queue, Role, Running, Snapshot, SolveOptions, Taint,
    TaintEffect, Toleration, TolerationEffect, TolerationOperator,
};
use gangplan_solver::session::{Columns, Decisions, LabelColumn, NONE, NewGang, NewRole, NodeNeeds, Session};

use super::clusters::Tape;

const RESOURCES: [&str; 3] = ["cpu", "gpu", "pods"];

/// A small random cluster: two levels, a label, a taint, queues, what runs, and gangs of up to three roles.
pub fn columns(tape: &mut Tape<'_>) -> Columns {
    let mut columns = Columns {
        resources: RESOURCES.map(str::to_owned).to_vec(),
        topology: vec!["zone".to_owned(), "rack".to_owned()],
        ..Columns::default()
    };
    columns.nodes.allocatable = vec![Vec::new(); 3];
    columns.roles.requests = vec![Vec::new(); 3];
    columns.pods.requests = vec![Vec::new(); 3];
    for (key, values) in [("zone", 2), ("rack", 3), ("pool", 2)] {
        let values = (0..values).map(|value| format!("{key}-{value}")).collect();
        columns.nodes.labels.push(LabelColumn { key: key.to_owned(), values, codes: Vec::new() });
    }
    columns.nodes.taint_sets.push(vec![taint()]);
    for index in 0..tape.range(3, 12) {
        columns.nodes.names.push(format!("n{index}"));
        for (resource, amount) in
            [tape.range(4, 17), tape.below(9), tape.range(2, 20)].into_iter().enumerate()
        {
            columns.nodes.allocatable[resource]
                .push(i64::from(amount) * if resource == 0 { 1000 } else { 1 });
        }
        for (label, values) in [2, 3, 2].into_iter().enumerate() {
            let code = if tape.once_in(15) { NONE } else { u32::from(tape.below(values)) };
            columns.nodes.labels[label].codes.push(code);
        }
        columns.nodes.taints.push(if tape.once_in(6) { 0 } else { NONE });
        columns.nodes.ready.push(!tape.once_in(12));
        columns.nodes.unschedulable.push(tape.once_in(12));
    }
    columns.queues = vec![
        Queue { name: "root".to_owned(), ..Queue::default() },
        Queue {
            name: "low".to_owned(),
            parent: Some("root".to_owned()),
            limit: BTreeMap::from([("gpu".to_owned(), tape.range(4, 30).to_string())]),
            ..Queue::default()
        },
    ];
    columns.needs = vec![
        NodeNeeds {
            node_selector: BTreeMap::from([("pool".to_owned(), "pool-0".to_owned())]),
            ..NodeNeeds::default()
        },
        NodeNeeds { tolerations: vec![toleration()], ..NodeNeeds::default() },
    ];
    for index in 0..tape.range(2, 7) {
        let gang = gang(tape, &format!("g{index}"));
        add(&mut columns, &gang);
    }
    let nodes = columns.nodes.names.len();
    for role in 0..columns.roles.names.len() {
        for index in 0..columns.roles.replicas[role] {
            if tape.once_in(5) {
                columns.running.roles.push(u32::try_from(role).unwrap());
                columns.running.indexes.push(index);
                columns.running.nodes.push(position(tape, nodes));
            }
        }
    }
    for _ in 0..tape.below(6) {
        columns.pods.nodes.push(position(tape, nodes));
        columns.pods.queues.push(tape.pick(&[NONE, 0, 1]));
        let amounts = [i64::from(tape.below(6)) * 1000, i64::from(tape.below(3)), 1];
        columns.pods.requests.iter_mut().zip(amounts).for_each(|(column, amount)| column.push(amount));
    }
    columns
}

pub fn taint() -> Taint {
    Taint { key: "dedicated".to_owned(), value: String::new(), effect: TaintEffect::NoSchedule }
}

fn toleration() -> Toleration {
    Toleration {
        key: "dedicated".to_owned(),
        operator: TolerationOperator::Exists,
        value: String::new(),
        effect: TolerationEffect::All,
    }
}

pub fn position(tape: &mut Tape<'_>, end: usize) -> u32 {
    u32::from(tape.below(u8::try_from(end).unwrap()))
}

pub fn gang(tape: &mut Tape<'_>, name: &str) -> NewGang {
    let mut roles = Vec::new();
    for name in ["worker", "ps", "evaluator"].into_iter().take(usize::from(tape.range(1, 4))) {
        let requests = vec![i64::from(tape.range(1, 5)) * 1000, i64::from(tape.pick(&[0, 0, 1, 2])), 1];
        let replicas = i64::from(tape.range(1, 6));
        roles.push(NewRole {
            name: name.to_owned(),
            replicas,
            requests,
            needs: tape.pick(&[NONE, NONE, 0, 1]),
            ..NewRole::default()
        });
    }
    NewGang {
        name: name.to_owned(),
        queue: tape.pick(&[NONE, 0, 1]),
        priority: i64::from(tape.below(2)),
        created: i64::from(tape.below(3)),
        required: tape.pick(&[NONE, NONE, 0, 1, 2]),
        roles,
        ..NewGang::default()
    }
}

pub fn add(columns: &mut Columns, gang: &NewGang) {
    let row = u32::try_from(columns.gangs.names.len()).unwrap();
    columns.gangs.names.push(gang.name.clone());
    columns.gangs.queues.push(gang.queue);
    columns.gangs.priorities.push(gang.priority);
    columns.gangs.created.push(gang.created);
    columns.gangs.required.push(gang.required);
    columns.gangs.preferred.push(gang.preferred);
    for role in &gang.roles {
        columns.roles.gangs.push(row);
        columns.roles.names.push(role.name.clone());
        columns.roles.replicas.push(role.replicas);
        columns.roles.needs.push(role.needs);
        columns
            .roles
            .requests
            .iter_mut()
            .zip(&role.requests)
            .for_each(|(column, amount)| column.push(*amount));
    }
}

/// The same cluster as a document.
pub fn document(columns: &Columns) -> Snapshot {
    let amounts = |table: &[Vec<i64>], row: usize, pods: bool| -> BTreeMap<String, String> {
        let text = |(name, column): (&&str, &Vec<i64>)| {
            let unit = if *name == "cpu" { "m" } else { "" };
            ((*name).to_owned(), format!("{}{unit}", column[row]))
        };
        RESOURCES.iter().zip(table).map(text).filter(|(name, _)| pods || name != "pods").collect()
    };
    let queue = |row: u32| columns.queues.get(row as usize).map(|queue| queue.name.clone());
    let mut snapshot = Snapshot {
        topology: columns.topology.clone(),
        queues: columns.queues.clone(),
        ..Snapshot::default()
    };
    for row in 0..columns.nodes.names.len() {
        let label = |column: &LabelColumn| {
            Some((column.key.clone(), column.values.get(column.codes[row] as usize)?.clone()))
        };
        snapshot.nodes.push(Node {
            name: columns.nodes.names[row].clone(),
            allocatable: amounts(&columns.nodes.allocatable, row, true),
            labels: columns.nodes.labels.iter().filter_map(label).collect(),
            taints: columns
                .nodes
                .taint_sets
                .get(columns.nodes.taints[row] as usize)
                .cloned()
                .unwrap_or_default(),
            ready: columns.nodes.ready[row],
            unschedulable: columns.nodes.unschedulable[row],
            ..Node::default()
        });
    }
    let levels = ["zone", "rack", "node"];
    for (row, name) in columns.gangs.names.iter().enumerate() {
        let required = levels.get(columns.gangs.required[row] as usize).map(|level| (*level).to_owned());
        snapshot.gangs.push(Gang {
            name: name.clone(),
            queue: queue(columns.gangs.queues[row]),
            priority: columns.gangs.priorities[row],
            created: columns.gangs.created[row],
            topology: required.map(|required| Closeness { required: Some(required), ..Closeness::default() }),
            ..Gang::default()
        });
    }
    for row in 0..columns.roles.names.len() {
        let none = NodeNeeds::default();
        let needs = columns.needs.get(columns.roles.needs[row] as usize).unwrap_or(&none);
        let terms: Vec<NodeSelectorTerm> = needs.node_affinity.clone();
        snapshot.gangs[columns.roles.gangs[row] as usize].roles.push(Role {
            name: columns.roles.names[row].clone(),
            replicas: columns.roles.replicas[row],
            requests: amounts(&columns.roles.requests, row, false),
            node_selector: needs.node_selector.clone(),
            node_affinity: terms,
            tolerations: needs.tolerations.clone(),
            ..Role::default()
        });
    }
    for (row, role) in columns.running.roles.iter().enumerate() {
        let gang = &snapshot.gangs[columns.roles.gangs[*role as usize] as usize].name;
        snapshot.running.push(Running {
            name: format!("replica-{row}"),
            node: columns.nodes.names[columns.running.nodes[row] as usize].clone(),
            gang: Some(gang.clone()),
            role: Some(columns.roles.names[*role as usize].clone()),
            index: Some(columns.running.indexes[row]),
            ..Running::default()
        });
    }
    for (row, node) in columns.pods.nodes.iter().enumerate() {
        snapshot.running.push(Running {
            name: format!("pod-{row}"),
            node: columns.nodes.names[*node as usize].clone(),
            requests: amounts(&columns.pods.requests, row, false),
            queue: queue(columns.pods.queues[row]),
            ..Running::default()
        });
    }
    snapshot
}

pub type Placements = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// Decisions by name, in the columns that they were made for.
pub fn by_name(columns: &Columns, decisions: &Decisions) -> (Placements, Vec<String>) {
    let mut placements = Placements::new();
    for row in 0..decisions.gangs.len() {
        let name = |names: &[String], position: u32| names[position as usize].clone();
        placements
            .entry(name(&columns.gangs.names, decisions.gangs[row]))
            .or_default()
            .entry(name(&columns.roles.names, decisions.roles[row]))
            .or_default()
            .push(name(&columns.nodes.names, decisions.nodes[row]));
    }
    let refused = decisions.refused.iter().map(|refusal| columns.gangs.names[refusal.gang as usize].clone());
    (placements, refused.collect())
}

/// What a session decides, with no limits.
pub fn decide(session: &mut Session) -> Decisions {
    session.solve(&SolveOptions::default(), &AtomicBool::new(false)).unwrap()
}
