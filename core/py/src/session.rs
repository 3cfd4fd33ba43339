//! Session: columns in, decisions out as arrays.

use std::sync::{Arc, Mutex};

use gangplan_solver::document::{self, SolveOptions};
use gangplan_solver::session;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffers::Findings;
use crate::{columns, entry};

#[pyclass(frozen, module = "gangplan._core")]
pub(crate) struct Session(Arc<Mutex<session::Session>>);

#[pymethods]
impl Session {
    #[new]
    fn new(py: Python<'_>, columns: &Bound<'_, PyAny>, texts: &[u8]) -> PyResult<Self> {
        let mut findings = Findings::default();
        let columns = columns::read(columns, &mut findings)?;
        let texts = texts.to_vec();
        entry::call(py, move |_| columns::open(columns, findings, &texts))
            .map(|opened| Self(Arc::new(Mutex::new(opened))))
    }

    fn solve(&self, py: Python<'_>, options: &[u8]) -> PyResult<Decisions> {
        let (session, options) = (Arc::clone(&self.0), options.to_vec());
        let solve = move |stop: &_| {
            let options = document::decode::<SolveOptions>(&options)?;
            session.lock().expect("a session that panicked is not used again").solve(&options, stop)
        };
        entry::call(py, solve).map(Decisions)
    }
}

/// Numbers cross as bytes of the machine's own order; Python looks at them as arrays without a copy.
#[pyclass(frozen, module = "gangplan._core")]
pub(crate) struct Decisions(session::Decisions);

#[pymethods]
impl Decisions {
    #[getter]
    fn gangs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        words(py, &self.0.gangs)
    }

    #[getter]
    fn roles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        words(py, &self.0.roles)
    }

    #[getter]
    fn indexes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        words(py, &self.0.indexes)
    }

    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        words(py, &self.0.nodes)
    }

    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        words(py, &self.0.refused.iter().map(|refusal| refusal.gang).collect::<Vec<u32>>())
    }

    #[getter]
    fn proven<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.refused.iter().map(|refusal| u8::from(refusal.proven)).collect::<Vec<u8>>())
    }

    #[getter]
    fn stopped(&self) -> bool {
        self.0.stopped
    }

    #[getter]
    fn cells(&self) -> i64 {
        self.0.work.cells
    }

    #[getter]
    fn visited(&self) -> i64 {
        self.0.work.nodes
    }

    #[getter]
    fn trials(&self) -> i64 {
        self.0.work.trials
    }
}

fn words<'py>(py: Python<'py>, column: &[u32]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(column), |bytes| {
        for (place, word) in bytes.chunks_exact_mut(size_of::<u32>()).zip(column) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        Ok(())
    })
}
