//! Generated clusters: racks of 16 nodes, blocks of 16 racks, zones of 8 blocks; three kinds of node.

use std::collections::BTreeMap;

use gangplan_solver::document::{Taint, TaintEffect};
use gangplan_solver::session::{Columns, LabelColumn, NONE, NodeNeeds};

use crate::random::Random;

pub const GPU: usize = 2;
pub const GIB: i64 = 1 << 30;
/// Classes of gangs that may use 70% of the racks, each others.
pub const CLASSES: usize = 8;
const RACK: usize = 16;
const BLOCK: usize = 16;
const ZONE: usize = 8;

/// Amounts in the order of the resource columns.
pub type Amounts = [i64; 4];

/// A cluster of `nodes` with nothing on it, a queue, and the classes.
pub fn empty(nodes: usize, random: &mut Random) -> Columns {
    let mut columns = bare(nodes, RACK, BLOCK, Some(ZONE));
    let kinds = [(70, 96_000, 768, 8), (20, 48_000, 384, 4), (10, 64_000, 256, 0)];
    for _ in 0..nodes {
        let dice = random.below(100);
        let kind = kinds[usize::from(dice >= 70) + usize::from(dice >= 90)];
        push(&mut columns.nodes.allocatable, [kind.1, kind.2 * GIB, kind.3, 110]);
    }
    let racks = nodes.div_ceil(RACK);
    for class in 0..CLASSES {
        let open: Vec<bool> = (0..racks).map(|_| random.chance(70)).collect();
        let key = format!("class-{class}");
        let codes = (0..nodes).map(|node| if open[node / RACK] { 0 } else { NONE }).collect();
        columns.nodes.labels.push(LabelColumn { key: key.clone(), values: vec!["yes".to_owned()], codes });
        let node_selector = BTreeMap::from([(key, "yes".to_owned())]);
        columns.needs.push(NodeNeeds { node_selector, ..NodeNeeds::default() });
    }
    columns
}

/// Topology, names and no amounts; `zone` is the number of blocks in a zone.
pub fn bare(nodes: usize, rack: usize, block: usize, zone: Option<usize>) -> Columns {
    let mut columns = Columns {
        resources: ["cpu", "memory", "nvidia.com/gpu", "pods"].map(str::to_owned).to_vec(),
        ..Columns::default()
    };
    columns.nodes.names = (0..nodes).map(|node| format!("n{node:06}")).collect();
    columns.nodes.allocatable = vec![Vec::new(); 4];
    let mut level = |key: &str, size: usize| {
        let values = (0..nodes.div_ceil(size)).map(|index| format!("{key}{index:05}")).collect();
        let codes = (0..nodes).map(|node| row(node / size)).collect();
        columns.topology.push(key.to_owned());
        columns.nodes.labels.push(LabelColumn { key: key.to_owned(), values, codes });
    };
    if let Some(zone) = zone {
        level("zone", rack * block * zone);
    }
    level("block", rack * block);
    level("rack", rack);
    columns.queues.push(queue("q0"));
    columns.roles.requests = vec![Vec::new(); 4];
    columns.pods.requests = vec![Vec::new(); 4];
    columns
}

fn queue(name: &str) -> gangplan_solver::document::Queue {
    let text = format!(r#"{{"queues": [{{"name": "{name}"}}]}}"#);
    let mut snapshot: gangplan_solver::document::Snapshot =
        gangplan_solver::document::decode(text.as_bytes()).expect("a queue needs a name only");
    snapshot.queues.remove(0)
}

/// Labels to 20 a node and some taints, as clusters have them.
pub fn dress(columns: &mut Columns, random: &mut Random) {
    let nodes = columns.nodes.names.len();
    while columns.nodes.labels.len() < 20 {
        let key = format!("label-{}", columns.nodes.labels.len());
        let values: Vec<String> = (0..=random.below(40)).map(|value| format!("value-{value}")).collect();
        let codes = (0..nodes).map(|_| row(random.below(values.len()))).collect();
        columns.nodes.labels.push(LabelColumn { key, values, codes });
    }
    let taint =
        |key: &str| Taint { key: key.to_owned(), value: String::new(), effect: TaintEffect::NoSchedule };
    columns.nodes.taint_sets = vec![vec![taint("maintenance")], vec![taint("dedicated"), taint("spot")]];
    columns.nodes.taints =
        (0..nodes).map(|_| if random.chance(3) { row(random.below(2)) } else { NONE }).collect();
}

/// What is free, by node, for generators that put something on the cluster.
pub fn free(columns: &Columns) -> Vec<Amounts> {
    let amounts = &columns.nodes.allocatable;
    (0..columns.nodes.names.len())
        .map(|node| [0, 1, 2, 3].map(|resource: usize| amounts[resource][node]))
        .collect()
}

/// Scatters small pods of no gang until `percent` of the GPUs are taken.
pub fn scatter(columns: &mut Columns, percent: i64, random: &mut Random) {
    let mut free = free(columns);
    let goal = free.iter().map(|free| free[GPU]).sum::<i64>() * percent / 100;
    let mut used = 0;
    while used < goal {
        let gpus = random.pick(&[1, 1, 2, 4]);
        let node = random.below(free.len());
        let ask = [gpus * random.between(4, 12) * 1000, gpus * random.between(16, 64) * GIB, gpus, 1];
        if free[node].iter().zip(ask).all(|(free, ask)| *free >= ask) {
            free[node].iter_mut().zip(ask).for_each(|(free, ask)| *free -= ask);
            used += gpus;
            columns.pods.nodes.push(row(node));
            push(&mut columns.pods.requests, ask);
        }
    }
}

/// A pod of no gang on every node.
pub fn daemons(columns: &mut Columns) {
    for node in 0..columns.nodes.names.len() {
        columns.pods.names.push(format!("daemon-{node:06}"));
        columns.pods.nodes.push(row(node));
        push(&mut columns.pods.requests, [500, GIB, 0, 1]);
    }
}

/// A row at the end of a table.
pub fn push(table: &mut [Vec<i64>], amounts: Amounts) {
    for (column, amount) in table.iter_mut().zip(amounts) {
        column.push(amount);
    }
}

/// A position as the columns hold it.
pub fn row(position: usize) -> u32 {
    u32::try_from(position).expect("positions have 32 bits")
}
