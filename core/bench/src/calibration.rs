//! What this machine can do: how long it takes to read all free capacity of a cluster once.

use std::hint::black_box;
use std::time::Instant;

/// Milliseconds of one scan of four amounts a node; the median of many.
pub fn scan(nodes: usize) -> f64 {
    let amounts: Vec<i64> = (0..4 * i64::try_from(nodes).unwrap_or(i64::MAX)).collect();
    let mut times: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            black_box(black_box(&amounts).iter().fold(0_i64, |sum, amount| sum.wrapping_add(*amount)));
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    median(&mut times)
}

/// The middle one.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
