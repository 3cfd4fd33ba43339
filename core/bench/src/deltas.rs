//! What a delta costs: a replica that is bound, then gone.

use gangplan_solver::session::{Delta, NONE, Session};

use crate::calibration::median;
use crate::cluster::{self, GIB};
use crate::gangs::{Ask, add};
use crate::random::Random;
use crate::rows::{open, solve, timed};

/// Deltas in a run.
const MANY: usize = 20_000;
const FEW: usize = 1_200;

/// Nanoseconds of a delta alone.
pub fn raw(nodes: usize, runs: usize) -> f64 {
    let mut random = Random::new(9);
    let mut columns = cluster::empty(nodes, &mut random);
    let worker = Ask { name: "worker", count: 10, amounts: [4000, 16 * GIB, 1, 1], needs: NONE };
    for _ in 0..MANY / 20 {
        add(&mut columns, NONE, NONE, &[worker]);
    }
    let mut session = open(columns);
    measure(&mut session, nodes, MANY, runs, |_| {})
}

/// Nanoseconds of a delta with the counts of 64 shapes brought up to date after it.
pub fn with_shapes(nodes: usize, runs: usize) -> f64 {
    let mut random = Random::new(9);
    let mut columns = cluster::empty(nodes, &mut random);
    cluster::scatter(&mut columns, 55, &mut random);
    for shape in 0..64 {
        let gpus = random.pick(&[0, 1, 2, 4]);
        let amounts = [1000 + 100 * i64::from(shape), random.between(4, 64) * GIB, gpus, 1];
        let needs = cluster::row(random.below(cluster::CLASSES));
        add(&mut columns, NONE, NONE, &[Ask { name: "worker", count: 10, amounts, needs }]);
    }
    let mut session = open(columns);
    solve(&mut session);
    session.catch_up();
    measure(&mut session, nodes, FEW, runs, |session| {
        session.catch_up();
    })
}

/// Replicas of the first roles are bound to random nodes, ten a role, then gone.
fn measure(
    session: &mut Session,
    nodes: usize,
    count: usize,
    runs: usize,
    after: impl Fn(&mut Session),
) -> f64 {
    let mut random = Random::new(10);
    let mut version = 0;
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let bound = (0..count / 2).map(|at| Delta::ReplicaBound {
                role: cluster::row(at / 10),
                index: i64::try_from(at % 10).expect("small"),
                node: cluster::row(random.below(nodes)),
                reserved: false,
            });
            let gone = (0..count / 2).map(|at| Delta::ReplicaGone {
                role: cluster::row(at / 10),
                index: i64::try_from(at % 10).expect("small"),
            });
            let deltas: Vec<Delta> = bound.chain(gone).collect();
            let (time, ()) = timed(|| {
                for delta in &deltas {
                    version += 1;
                    session.apply(version, std::slice::from_ref(delta)).expect("sound");
                    after(session);
                }
            });
            time * 1e6 / f64::from(u32::try_from(count).expect("small"))
        })
        .collect();
    median(&mut times)
}
