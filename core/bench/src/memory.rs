//! The most memory that a row takes, in a process of its own.

/// MB of a row that reports its own peak.
pub fn of(row: &str) -> f64 {
    let program = std::env::current_exe().expect("the program that runs has a path");
    let output = std::process::Command::new(program)
        .args(["--only", row, "--runs", "1"])
        .output()
        .expect("the program can start itself");
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a row is JSON");
    line["value"].as_f64().expect("the value of a row is a number")
}

/// The most that this process had in memory so far, in MB; not a number where the system does not tell.
pub fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
}
