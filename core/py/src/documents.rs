//! Documents and quantities: validate, schema, roundtrip, rules.

use gangplan_solver::document::{self, Deltas, Plan, Rounding, Rule, Snapshot, SolveOptions};
use gangplan_solver::{Error, Problem};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::entry;
use crate::error::quantity_error;

/// The functions of a kind of document.
struct Kind {
    problems: fn(&[u8]) -> Vec<Problem>,
    schema: fn() -> String,
    roundtrip: fn(&[u8]) -> Result<Vec<u8>, Error>,
}

impl Kind {
    fn of<T: document::Document>() -> Self {
        Self {
            problems: document::problems::<T>,
            schema: document::schema::<T>,
            roundtrip: |bytes| document::read::<T>(bytes).map(|value| document::encode(&value)),
        }
    }

    fn named(name: &str) -> PyResult<Self> {
        match name {
            "snapshot" => Ok(Self::of::<Snapshot>()),
            "options" => Ok(Self::of::<SolveOptions>()),
            "plan" => Ok(Self::of::<Plan>()),
            "deltas" => Ok(Self::of::<Deltas>()),
            other => Err(PyValueError::new_err(format!(
                "there is no kind of document '{other}', only snapshot, options, plan and deltas"
            ))),
        }
    }
}

#[pyfunction]
pub(crate) fn validate(py: Python<'_>, kind: &str, document: &[u8]) -> PyResult<Vec<u8>> {
    let (kind, document) = (Kind::named(kind)?, document.to_vec());
    entry::call(py, move |_| Ok(document::encode(&(kind.problems)(&document))))
}

#[pyfunction]
pub(crate) fn schema(kind: &str) -> PyResult<String> {
    Ok((Kind::named(kind)?.schema)())
}

#[pyfunction]
pub(crate) fn roundtrip(py: Python<'_>, kind: &str, document: &[u8]) -> PyResult<Vec<u8>> {
    let (kind, document) = (Kind::named(kind)?, document.to_vec());
    entry::call(py, move |_| (kind.roundtrip)(&document))
}

#[pyfunction]
pub(crate) fn rules() -> Vec<&'static str> {
    Rule::ALL.iter().map(|rule| rule.code()).collect()
}

#[pyfunction]
pub(crate) fn parse_quantity(py: Python<'_>, resource: &str, text: &str, round_up: bool) -> PyResult<i64> {
    let rounding = if round_up { Rounding::Up } else { Rounding::Down };
    document::parse_quantity(resource, text, rounding).map_err(|error| quantity_error(py, text, error))
}

#[pyfunction]
pub(crate) fn format_quantity(resource: &str, amount: i64) -> String {
    document::format_quantity(resource, amount)
}

#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
