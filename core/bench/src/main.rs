//! Measures the solver on generated clusters and prints a JSON line a figure:
//! `{"id","value","unit","better","must","aim","ratio","ok"}`. Times are medians, in ms; deltas in ns; memory in MB.
//! `ratio` is the value over a scan of all free capacity of a cluster of that size, measured in the same run.
//!
//! `gangplan-bench [--only ID,ID] [--runs N]`

mod calibration;
mod cluster;
mod deltas;
mod edge;
mod gangs;
mod large;
mod memory;
mod published;
mod random;
mod rows;

use std::io::Write;

/// As in the Python module, so that what is measured is what runs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut only: Vec<String> = Vec::new();
    let mut runs = 5;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--only" => only.extend(value.split(',').map(str::to_owned)),
            "--runs" => runs = value.parse::<usize>()?.max(1),
            _ => return Err(format!("unknown argument {argument}; there are --only and --runs").into()),
        }
    }
    let known = rows::all();
    if let Some(unknown) = only.iter().find(|id| known.iter().all(|row| row.id != id.as_str())) {
        let ids: Vec<&str> = known.iter().map(|row| row.id).collect();
        return Err(format!("there is no row {unknown}; there are {}", ids.join(" ")).into());
    }
    let mut out = std::io::stdout().lock();
    for row in known {
        let asked = if only.is_empty() { !row.extra } else { only.iter().any(|id| id == row.id) };
        if asked {
            let value = (row.measure)(runs);
            let scan = calibration::scan(row.nodes);
            writeln!(out, "{}", row.line(value, scan))?;
            out.flush()?;
        }
    }
    Ok(())
}
