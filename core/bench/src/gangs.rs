//! Generated gangs: training jobs of chief, parameter servers and workers.

use gangplan_solver::session::{Columns, NONE};

use crate::cluster::{Amounts, CLASSES, GIB, push, row};
use crate::random::Random;

/// A role to add.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    pub name: &'static str,
    pub count: i64,
    pub amounts: Amounts,
    /// Position in `needs`.
    pub needs: u32,
}

/// Adds a gang of queue 0; `required` and `preferred` are positions in the topology.
pub fn add(columns: &mut Columns, required: u32, preferred: u32, roles: &[Ask]) -> u32 {
    let gang = row(columns.gangs.names.len());
    columns.gangs.names.push(format!("g{gang:07}"));
    columns.gangs.queues.push(0);
    columns.gangs.required.push(required);
    columns.gangs.preferred.push(preferred);
    for role in roles.iter().filter(|role| role.count > 0) {
        columns.roles.gangs.push(gang);
        columns.roles.names.push(role.name.to_owned());
        columns.roles.replicas.push(role.count);
        columns.roles.needs.push(role.needs);
        push(&mut columns.roles.requests, role.amounts);
    }
    gang
}

/// `gangs` jobs of ten replicas in the mean, half of which must stay in one block.
pub fn easy(columns: &mut Columns, gangs: usize, random: &mut Random) {
    let block = 1;
    let mut open = 10 * i64::try_from(gangs).expect("small");
    for gang in 0..gangs {
        let left = i64::try_from(gangs - gang).expect("small");
        // The last ones make up for the drift, so that there are exactly ten times as many replicas.
        let total = if left == 1 { open } else { (open / left + random.between(-4, 4)).max(2) };
        open -= total;
        let ps = (total * 2 / 5).min(total - 1);
        let cpu = random.between(2, 6) * 1000;
        let roles = [
            Ask { name: "chief", count: 1, amounts: [cpu, 16 * GIB, 1, 1], needs: NONE },
            Ask { name: "ps", count: ps, amounts: [2000, 8 * GIB, 0, 1], needs: NONE },
            Ask { name: "worker", count: total - 1 - ps, amounts: [cpu, 32 * GIB, 1, 1], needs: NONE },
        ];
        let required = if random.chance(50) { block } else { NONE };
        add(columns, required, NONE, &roles);
    }
}

/// `gangs` jobs of 64 shapes in 8 classes; sizes fall off exponentially, levels are drawn.
pub fn hard(columns: &mut Columns, gangs: usize, random: &mut Random) {
    let shapes: Vec<Amounts> = (0..5)
        .map(|kind| {
            let gpus = [1, 1, 2, 4, 8][kind];
            [gpus * random.between(4, 11) * 1000, gpus * random.between(16, 80) * GIB, gpus, 1]
        })
        .collect();
    for _ in 0..gangs {
        let class = row(random.below(CLASSES));
        let mut workers = 1;
        while workers < 200 && !random.chance(11) {
            workers += 1;
        }
        let worker = shapes[random.below(5)];
        let ps = if random.chance(70) { 1 + workers / 8 } else { 0 };
        let server = random.pick(&[[4000, 16 * GIB, 0, 1], [10_000, 48 * GIB, 0, 1]]);
        let chief = i64::from(random.chance(50));
        let roles = [
            Ask { name: "chief", count: chief, amounts: [6000, 24 * GIB, 1, 1], needs: class },
            Ask { name: "ps", count: ps, amounts: server, needs: class },
            Ask { name: "worker", count: workers, amounts: worker, needs: class },
        ];
        let required = random.pick(&[NONE, 0, 1, 2]);
        add(columns, required, NONE, &roles);
    }
}

/// Gangs of `size` running workers, `each` on every node in the mean, with and without GPUs.
pub fn running(columns: &mut Columns, each: usize, size: usize, random: &mut Random) {
    let nodes = columns.nodes.names.len();
    for _ in 0..nodes * each / size {
        let gpus = i64::from(random.chance(30));
        let worker = Ask {
            name: "worker",
            count: i64::try_from(size).expect("small"),
            amounts: [random.between(1, 8) * 1000, random.between(4, 32) * GIB, gpus, 1],
            needs: if random.chance(20) { row(random.below(CLASSES)) } else { NONE },
        };
        add(columns, NONE, NONE, &[worker]);
        let role = row(columns.roles.names.len() - 1);
        let first = random.below(nodes);
        for index in 0..size {
            columns.running.roles.push(role);
            columns.running.indexes.push(i64::try_from(index).expect("small"));
            columns.running.nodes.push(row((first + index / 4) % nodes));
        }
    }
}
