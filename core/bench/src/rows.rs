//! The figures: what each measures, and what it must and should be.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use gangplan_solver::document::SolveOptions;
use gangplan_solver::session::{Columns, Decisions, Session};

use crate::calibration::median;
use crate::random::Random;
use crate::{cluster, deltas, edge, gangs, large, memory, published};

/// Runs that are not counted.
const WARM_UPS: usize = 3;

/// A figure.
pub struct Row {
    pub id: &'static str,
    pub unit: &'static str,
    pub must: f64,
    pub aim: f64,
    /// Size of the cluster, for the calibration.
    pub nodes: usize,
    /// Measured only on request.
    pub extra: bool,
    pub measure: Box<dyn Fn(usize) -> f64>,
}

impl Row {
    /// The line that is printed.
    pub fn line(&self, value: f64, scan: f64) -> String {
        let scans = if self.unit == "ns" { value / 1e6 / scan } else { value / scan };
        serde_json::json!({
            "id": self.id,
            "value": rounded(value),
            "unit": self.unit,
            "better": "lower",
            "must": self.must,
            "aim": self.aim,
            "ratio": rounded(scans),
            "ok": value <= self.must,
        })
        .to_string()
    }
}

fn rounded(value: f64) -> f64 {
    let scale = if value.abs() < 10.0 { 1e4 } else { 1e1 };
    (value * scale).round() / scale
}

/// All of them.
pub fn all() -> Vec<Row> {
    let (small, large) = (10_000, 100_000);
    vec![
        row("T1.10k", 6.0, 3.0, small, move |runs| snapshot(&full(small), runs)),
        row("T2.100k", 80.0, 40.0, large, move |runs| snapshot(&full(large), runs)),
        row("T3.easy", 15.0, 6.0, small, move |runs| act(&easy(small, 1_000), runs)),
        row("T3.hard", 50.0, 25.0, small, move |runs| act(&hard(small, 1_000), runs)),
        row("T4.easy", 60.0, 25.0, small, move |runs| act(&easy(small, 10_000), runs)),
        row("T4.hard", 200.0, 100.0, small, move |runs| act(&hard(small, 10_000), runs)),
        row("T5.easy", 600.0, 300.0, large, move |runs| act(&easy(large, 100_000), runs)),
        row("T5.hard", 4000.0, 2000.0, large, move |runs| act(&hard(large, 100_000), runs)),
        row("T6.warm", 0.3, 0.15, small, move |runs| large::warm(small, runs)),
        row("T6.cold", 1.0, 0.5, small, move |runs| large::cold(small, runs)),
        row("T7.warm", 0.6, 0.3, large, move |runs| large::warm(large, runs)),
        row("T7.cold", 8.0, 3.0, large, move |runs| large::cold(large, runs)),
        nanos("T8.raw", 100.0, 40.0, small, move |runs| deltas::raw(small, runs)),
        nanos("T8.shapes", 4000.0, 2000.0, small, move |runs| deltas::with_shapes(small, runs)),
        row("T10", 5.0, 1.0, small, move |runs| edge::explanation(small, runs)),
        row("T14.10k", 2.0, 0.6, small, move |runs| edge::answer(small, runs)),
        row("T14.640", 1.0, 0.3, 640, |runs| edge::answer(640, runs)),
        Row { unit: "MB", ..row("memory.100k", 1500.0, 1500.0, large, |_| memory::of("memory.100k.alone")) },
        extra("memory.100k.alone", 1500.0, 1500.0, large, move |_| {
            solve(&mut open(easy(large, 100_000)));
            memory::peak()
        }),
        extra("W1.1250", 0.06, 0.01, 1250, |runs| whole(&published::w1(1250, false), runs) / 1000.0),
        extra("W1t.1250", 0.06, 0.01, 1250, |runs| whole(&published::w1(1250, true), runs) / 1000.0),
        extra("W1.10000", 0.06, 0.01, small, move |runs| whole(&published::w1(small, false), runs) / 1000.0),
        extra("W1t.10000", 0.06, 0.01, small, move |runs| whole(&published::w1(small, true), runs) / 1000.0),
        extra("W2.10000", 2.0, 0.5, small, move |runs| act(&published::w2(small, &mut Random::new(7)), runs)),
        extra("W3.1250", 0.1, 0.02, 1250, |runs| {
            act(&published::w3(1250, false, &mut Random::new(7)), runs) / 1000.0
        }),
        extra("W3t.1250", 0.1, 0.02, 1250, |runs| {
            act(&published::w3(1250, true, &mut Random::new(7)), runs) / 1000.0
        }),
        extra("W5.10000", 6.0, 3.0, small, move |runs| whole(&published::w5(small), runs)),
    ]
}

fn row(id: &'static str, must: f64, aim: f64, nodes: usize, measure: impl Fn(usize) -> f64 + 'static) -> Row {
    Row { id, unit: "ms", must, aim, nodes, extra: false, measure: Box::new(measure) }
}

fn nanos(
    id: &'static str,
    must: f64,
    aim: f64,
    nodes: usize,
    measure: impl Fn(usize) -> f64 + 'static,
) -> Row {
    Row { unit: "ns", ..row(id, must, aim, nodes, measure) }
}

fn extra(
    id: &'static str,
    must: f64,
    aim: f64,
    nodes: usize,
    measure: impl Fn(usize) -> f64 + 'static,
) -> Row {
    Row { extra: true, ..row(id, must, aim, nodes, measure) }
}

fn easy(nodes: usize, count: usize) -> Columns {
    let mut random = Random::new(3);
    let mut columns = cluster::empty(nodes, &mut random);
    gangs::easy(&mut columns, count, &mut random);
    columns
}

pub fn hard(nodes: usize, count: usize) -> Columns {
    let mut random = Random::new(4);
    let mut columns = cluster::empty(nodes, &mut random);
    cluster::scatter(&mut columns, 55, &mut random);
    gangs::hard(&mut columns, count, &mut random);
    columns
}

/// Ten replicas or pods a node, 20 labels and some taints.
fn full(nodes: usize) -> Columns {
    let mut random = Random::new(1);
    let mut columns = cluster::empty(nodes, &mut random);
    cluster::dress(&mut columns, &mut random);
    gangs::running(&mut columns, 9, 50, &mut random);
    cluster::daemons(&mut columns);
    columns
}

/// Milliseconds from columns to a session that stands ready.
fn snapshot(columns: &Columns, runs: usize) -> f64 {
    let once = || {
        let columns = columns.clone();
        timed(|| open(columns)).0
    };
    // The first ones meet memory that the machine itself must fetch.
    for _ in 0..WARM_UPS {
        once();
    }
    let mut times: Vec<f64> = (0..runs).map(|_| once()).collect();
    median(&mut times)
}

/// Milliseconds of a solve from a session that stands ready.
fn act(columns: &Columns, runs: usize) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let mut session = open(columns.clone());
            timed(|| solve(&mut session)).0
        })
        .collect();
    median(&mut times)
}

/// Milliseconds from columns to decisions.
fn whole(columns: &Columns, runs: usize) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let columns = columns.clone();
            timed(|| solve(&mut open(columns))).0
        })
        .collect();
    median(&mut times)
}

pub fn open(columns: Columns) -> Session {
    Session::open(columns).expect("generated columns are sound")
}

pub fn solve(session: &mut Session) -> Decisions {
    session.solve(&SolveOptions::default(), &AtomicBool::new(false)).expect("nobody stops it")
}

/// Milliseconds of a call, and its answer.
pub fn timed<T>(call: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let answer = black_box(call());
    (start.elapsed().as_secs_f64() * 1e3, answer)
}
