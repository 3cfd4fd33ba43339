//! The workloads that other schedulers were measured on: racks of 16 nodes of 8 GPUs, blocks of 10 racks.

use gangplan_solver::session::{Columns, NONE};

use crate::cluster::{self, GIB, push, row};
use crate::gangs::{Ask, add};
use crate::random::Random;

const GPUS: i64 = 8;
const BLOCK_NODES: usize = 160;

fn cluster(nodes: usize) -> Columns {
    let mut columns = cluster::bare(nodes, 16, 10, None);
    for _ in 0..nodes {
        push(&mut columns.nodes.allocatable, [128_000, 1024 * GIB, GPUS, 110]);
    }
    columns
}

fn worker(count: i64, cpu: i64) -> Ask {
    Ask { name: "worker", count, amounts: [cpu, 64 * GIB, 1, 1], needs: NONE }
}

fn levels(topology: bool) -> (u32, u32) {
    if topology { (0, 1) } else { (NONE, NONE) }
}

/// W1: 1,000 gangs of 10 one-GPU workers.
pub fn w1(nodes: usize, topology: bool) -> Columns {
    let mut columns = cluster(nodes);
    let (required, preferred) = levels(topology);
    for _ in 0..1000 {
        add(&mut columns, required, preferred, &[worker(10, 8000)]);
    }
    columns
}

/// W2: 30% of the GPUs in use, and 512 workers with 64 parameter servers that need one block.
pub fn w2(nodes: usize, random: &mut Random) -> Columns {
    let mut columns = cluster(nodes);
    let mut free = vec![GPUS; nodes];
    let goal = GPUS * i64::try_from(nodes).expect("small") * 30 / 100;
    let mut used = 0;
    while used < goal {
        let (gpus, node) = (random.pick(&[1, 2, 4, 8]), random.below(nodes));
        if free[node] >= gpus {
            free[node] -= gpus;
            used += gpus;
            columns.pods.nodes.push(row(node));
            push(&mut columns.pods.requests, [8000 * gpus, 64 * GIB * gpus, gpus, 1]);
        }
    }
    let ps = Ask { name: "ps", count: 64, amounts: [8000, 32 * GIB, 0, 1], needs: NONE };
    add(&mut columns, 0, 1, &[worker(512, 8000), ps]);
    columns
}

/// W3: every GPU in use but twelve, or eight in every block; 1,000 gangs that cannot fit.
pub fn w3(nodes: usize, topology: bool, random: &mut Random) -> Columns {
    let mut columns = cluster(nodes);
    let mut spare = vec![0; nodes];
    let mut spread = |from: usize, to: usize, mut count: i64, random: &mut Random| {
        while count > 0 {
            let node = from + random.below(to - from);
            if spare[node] == 0 {
                spare[node] = 1;
                count -= 1;
            }
        }
    };
    if topology {
        for block in (0..nodes).step_by(BLOCK_NODES) {
            spread(block, nodes.min(block + BLOCK_NODES), 8, random);
        }
    } else {
        spread(0, nodes, 12, random);
    }
    let slots = (0..nodes).flat_map(|node| (0..GPUS - spare[node]).map(move |_| node));
    run(&mut columns, &slots.collect::<Vec<_>>(), 16);
    let (required, preferred) = levels(topology);
    for _ in 0..1000 {
        let (count, cpu) = (random.between(16, 40), random.between(1, 8) * 1000);
        add(&mut columns, required, preferred, &[worker(count, cpu)]);
    }
    columns
}

/// W5: a full cluster in which nothing waits.
pub fn w5(nodes: usize) -> Columns {
    let mut columns = cluster(nodes);
    let slots: Vec<usize> = (0..nodes).flat_map(|node| [node; 8]).collect();
    run(&mut columns, &slots, 40);
    columns
}

/// Running gangs of one-GPU workers on these nodes, `size` a gang.
fn run(columns: &mut Columns, slots: &[usize], size: usize) {
    for part in slots.chunks(size) {
        let gang = add(columns, NONE, NONE, &[worker(i64::try_from(part.len()).expect("small"), 8000)]);
        let role = row(columns.roles.gangs.iter().rposition(|of| *of == gang).expect("just added"));
        for (index, node) in (0..).zip(part) {
            columns.running.roles.push(role);
            columns.running.indexes.push(index);
            columns.running.nodes.push(row(*node));
        }
    }
}
