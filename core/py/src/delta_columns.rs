//! Deltas in columns of Python → those of the solver.

use gangplan_solver::Error;
use gangplan_solver::session::{DeltaColumns, EndedColumns, NodeDeltas};
use pyo3::prelude::*;

use crate::buffers::Findings;
use crate::columns::{Table, gangs, lies_in, pods, roles, running};
use crate::held::Held;

/// Reads all columns.
pub(crate) fn read(value: &Bound<'_, PyAny>, findings: &mut Findings) -> PyResult<DeltaColumns> {
    let mut whole = Table::whole(value, findings);
    Ok(DeltaColumns {
        resources: whole.texts("resources")?,
        gone_gangs: whole.numbers("gone_gangs")?,
        gone_pods: whole.numbers("gone_pods")?,
        ended: ended(whole.table("ended")?)?,
        nodes: nodes(whole.table("nodes")?)?,
        gangs: gangs(whole.table("gangs")?)?,
        roles: roles(whole.table("roles")?)?,
        pods: pods(whole.table("pods")?)?,
        bound: running(whole.table("bound")?)?,
    })
}

fn ended(mut table: Table) -> PyResult<EndedColumns> {
    Ok(EndedColumns { roles: table.numbers("roles")?, indexes: table.numbers("indexes")? })
}

fn nodes(mut table: Table) -> PyResult<NodeDeltas> {
    Ok(NodeDeltas {
        rows: table.numbers("rows")?,
        allocatable: table.amounts("allocatable")?,
        free: table.amounts("free")?,
        unschedulable: table.truths("unschedulable")?,
        ready: table.truths("ready")?,
    })
}

/// Applies what was read, or tells all that is wrong with it.
pub(crate) fn apply(
    held: &mut Held,
    version: u64,
    columns: &DeltaColumns,
    findings: Findings,
) -> Result<bool, Error> {
    if findings.problems.is_empty() {
        return held.apply_columns(version, columns);
    }
    let mut problems = findings.problems;
    if let Err(Error::Invalid { problems: more, .. }) = held.judge_columns(columns) {
        // Of a table that could not be read as a whole nothing else is certain.
        let doubtful: Vec<String> = problems.iter().flat_map(|problem| doubtful(&problem.path)).collect();
        let certain =
            more.into_iter().filter(|problem| !doubtful.iter().any(|path| lies_in(&problem.path, path)));
        problems.extend(certain);
    }
    Err(Error::invalid("deltas", problems))
}

/// The table that a path lies in, and those that refer to it.
fn doubtful(path: &str) -> Vec<String> {
    let table = path[2..].split(['.', '[']).next().unwrap_or(path);
    let also: &[&str] = match table {
        "resources" => &["nodes", "roles", "pods"],
        "gangs" | "roles" => &["gangs", "roles", "bound"],
        _ => &[],
    };
    also.iter().chain([&table]).map(|table| format!("$.{table}")).collect()
}
