//! One large gang, 512 workers and 64 parameter servers, on a cluster in which small pods come and go.

use gangplan_solver::session::{Columns, Delta, NONE, Session};

use crate::calibration::median;
use crate::cluster::{self, GIB, GPU};
use crate::gangs::{Ask, add};
use crate::random::Random;
use crate::rows::{open, solve, timed};

/// Pods that come, and pods that go, between two questions.
const CHURN: usize = 16;

/// Questions of which the 99th percentile is taken.
const QUESTIONS: usize = 100;

/// The 99th percentile of an answer in ms, where the counts are kept; the median of several runs.
pub fn warm(nodes: usize, runs: usize) -> f64 {
    let columns = waiting(nodes);
    let mut churn = Churn::new(&columns);
    let mut session = open(columns);
    solve(&mut session);
    let mut run = || {
        let times = (0..QUESTIONS).map(|_| {
            churn.step(&mut session);
            timed(|| solve(&mut session)).0
        });
        high(times.collect())
    };
    median(&mut (0..runs).map(|_| run()).collect::<Vec<f64>>())
}

/// The first answer of a session in ms; the median of several.
pub fn cold(nodes: usize, questions: usize) -> f64 {
    let columns = waiting(nodes);
    let times = (0..questions).map(|_| {
        let mut session = open(columns.clone());
        timed(|| solve(&mut session)).0
    });
    median(&mut times.collect::<Vec<f64>>())
}

fn waiting(nodes: usize) -> Columns {
    let mut random = Random::new(6);
    let mut columns = cluster::empty(nodes, &mut random);
    cluster::scatter(&mut columns, 55, &mut random);
    let roles = [
        Ask { name: "ps", count: 64, amounts: [4000, 16 * GIB, 0, 1], needs: NONE },
        Ask { name: "worker", count: 512, amounts: [6000, 32 * GIB, 1, 1], needs: NONE },
    ];
    add(&mut columns, NONE, NONE, &roles);
    columns
}

fn high(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() * 99 / 100).min(times.len() - 1)]
}

/// Pods that come and go.
struct Churn {
    random: Random,
    free: Vec<cluster::Amounts>,
    /// Pods that are there, with node and amounts.
    pods: Vec<(u32, usize, cluster::Amounts)>,
    next: u32,
    version: u64,
}

impl Churn {
    fn new(columns: &Columns) -> Self {
        let mut free = cluster::free(columns);
        let mut pods = Vec::new();
        for (row, node) in columns.pods.nodes.iter().enumerate() {
            let amounts = [0, 1, 2, 3].map(|resource: usize| columns.pods.requests[resource][row]);
            let node = *node as usize;
            free[node].iter_mut().zip(amounts).for_each(|(free, amount)| *free -= amount);
            pods.push((cluster::row(row), node, amounts));
        }
        Self { random: Random::new(8), free, next: cluster::row(pods.len()), pods, version: 0 }
    }

    fn step(&mut self, session: &mut Session) {
        let mut deltas = Vec::new();
        for _ in 0..CHURN {
            let (pod, node, amounts) = self.pods.swap_remove(self.random.below(self.pods.len()));
            self.free[node].iter_mut().zip(amounts).for_each(|(free, amount)| *free += amount);
            deltas.push(Delta::PodGone { pod });
        }
        while deltas.len() < 2 * CHURN {
            let node = self.random.below(self.free.len());
            let amounts = [4000 * self.random.between(1, 3), 32 * GIB, self.random.pick(&[1, 1, 2]), 1];
            if self.free[node][GPU] > 0 && self.free[node].iter().zip(amounts).all(|(free, ask)| *free >= ask)
            {
                self.free[node].iter_mut().zip(amounts).for_each(|(free, amount)| *free -= amount);
                self.pods.push((self.next, node, amounts));
                self.next += 1;
                let node = cluster::row(node);
                deltas.push(Delta::PodBound { requests: amounts.to_vec(), queue: NONE, node });
            }
        }
        self.version += 1;
        session.apply(self.version, &deltas).expect("generated deltas are sound");
    }
}
