//! The long calls: solve, check, traffic.

use gangplan_solver::document::{self, Plan, Snapshot};
use pyo3::prelude::*;

use crate::entry;

#[pyfunction]
pub(crate) fn solve(py: Python<'_>, snapshot: &[u8], options: &[u8]) -> PyResult<Vec<u8>> {
    let (snapshot, options) = (snapshot.to_vec(), options.to_vec());
    entry::call(py, move |stop| gangplan_solver::solve_bytes(&snapshot, &options, stop))
}

#[pyfunction]
pub(crate) fn check(py: Python<'_>, snapshot: &[u8], plan: &[u8]) -> PyResult<Vec<u8>> {
    let (snapshot, plan) = (snapshot.to_vec(), plan.to_vec());
    entry::call(py, move |_| {
        let snapshot: Snapshot = document::decode(&snapshot)?;
        let plan: Plan = document::decode(&plan)?;
        Ok(document::encode(&gangplan_solver::check(&snapshot, &plan)?))
    })
}

#[pyfunction]
pub(crate) fn traffic(py: Python<'_>, snapshot: &[u8], plan: &[u8]) -> PyResult<Vec<u8>> {
    let (snapshot, plan) = (snapshot.to_vec(), plan.to_vec());
    entry::call(py, move |_| {
        let snapshot: Snapshot = document::decode(&snapshot)?;
        let plan: Plan = document::decode(&plan)?;
        Ok(document::encode(&gangplan_solver::evaluate(&snapshot, &plan.placements)?))
    })
}
