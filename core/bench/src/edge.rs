//! One gang at the edge: just so much room that only an exact search tells whether it fits; and why it does not.

use std::sync::atomic::AtomicBool;

use gangplan_solver::document::SolveOptions;
use gangplan_solver::session::{Columns, NONE};

use crate::calibration::median;
use crate::cluster::{self, GIB, push};
use crate::gangs::{Ask, add};
use crate::random::Random;
use crate::rows::{open, solve, timed};

const CHIEFS: i64 = 1;
const SERVERS: i64 = 64;
const WORKERS: i64 = 512;

/// Milliseconds to the first answer for 1 + 64 + 512 replicas; the median of several gangs, about half of which fit.
pub fn answer(nodes: usize, gangs: usize) -> f64 {
    let times = (0..gangs.max(9)).map(|seed| {
        let mut session = open(tight(nodes, &mut Random::new(100 + seed as u64)));
        timed(|| solve(&mut session)).0
    });
    median(&mut times.collect::<Vec<f64>>())
}

/// Partly used nodes are opened one by one until the sums allow the gang, and up to two more; all others are full but
/// for a few cores.
fn tight(nodes: usize, random: &mut Random) -> Columns {
    let mut columns = cluster::bare(nodes, 16, 16, Some(8));
    let cores = |random: &mut Random, from, to| 1000 * random.between(from, to);
    let (worker, server, chief) = (cores(random, 11, 15), cores(random, 5, 19), cores(random, 5, 19));
    let needed = WORKERS * worker + SERVERS * server + CHIEFS * chief;
    let mut extra = random.below(3);
    let (mut gpus, mut cpu) = (0, 0);
    for _ in 0..nodes {
        let dice = random.below(100);
        let whole = if dice < 70 {
            (8, 96_000)
        } else if dice < 90 {
            (4, 48_000)
        } else {
            (0, 64_000)
        };
        let used = if random.chance(75) { random.between(0, whole.0) } else { 0 };
        let free = (whole.0 - used, whole.1 - used * 1000 * random.between(4, 10));
        let short = gpus < WORKERS || cpu < needed;
        let open = short || extra > 0;
        extra -= usize::from(!short && extra > 0);
        let free = if open { free } else { (0, cores(random, 0, 4)) };
        if open {
            // A device without the cores for a worker is of no use.
            gpus += free.0.min(free.1 / worker);
            cpu += free.1;
        }
        push(&mut columns.nodes.allocatable, [free.1, 512 * GIB, free.0, 110]);
    }
    let roles = [
        Ask { name: "chief", count: CHIEFS, amounts: [chief, 8 * GIB, 0, 1], needs: NONE },
        Ask { name: "ps", count: SERVERS, amounts: [server, 8 * GIB, 0, 1], needs: NONE },
        Ask { name: "worker", count: WORKERS, amounts: [worker, 8 * GIB, 1, 1], needs: NONE },
    ];
    add(&mut columns, NONE, NONE, &roles);
    columns
}

/// Milliseconds of the explanation, with tried changes, of a gang that no block holds.
pub fn explanation(nodes: usize, runs: usize) -> f64 {
    let mut random = Random::new(10);
    let mut columns = cluster::empty(nodes, &mut random);
    cluster::scatter(&mut columns, 55, &mut random);
    let roles = [
        Ask { name: "ps", count: 64, amounts: [4000, 16 * GIB, 0, 1], needs: NONE },
        Ask { name: "worker", count: 2000, amounts: [6000, 32 * GIB, 1, 1], needs: NONE },
    ];
    let block = 1;
    let gang = add(&mut columns, block, NONE, &roles);
    let mut session = open(columns);
    let mut explain = || session.explain(gang, &SolveOptions::default(), &AtomicBool::new(false));
    let refused = explain().expect("nobody stops it").expect("no block holds it");
    assert!(!refused.changes.is_empty(), "relaxing the level admits it");
    median(&mut (0..runs).map(|_| timed(&mut explain).0).collect::<Vec<f64>>())
}
