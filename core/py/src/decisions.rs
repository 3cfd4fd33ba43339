//! Decisions: what a solve decided, as arrays in bytes.

use gangplan_solver::session;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Numbers cross as bytes of the machine's own order; Python looks at them as arrays without a copy.
#[pyclass(frozen, module = "gangplan._core")]
pub(crate) struct Decisions(pub(crate) session::Decisions);

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

    /// By node that is kept for a refused gang, the row of the gang.
    #[getter]
    fn kept_gangs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        words(py, &self.kept_rows().map(|(kept, _)| kept.gang).collect::<Vec<u32>>())
    }

    /// By node that is kept for a refused gang, its row; none stands for room under limits.
    #[getter]
    fn kept_nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        words(py, &self.kept_rows().map(|(_, node)| node).collect::<Vec<u32>>())
    }

    /// By node that is kept for a refused gang, in how many seconds the gang can start; -1: not known.
    #[getter]
    fn kept_starts_s<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let starts = self.kept_rows().map(|(kept, _)| kept.starts_in_s.unwrap_or(-1));
        PyBytes::new(py, &starts.flat_map(i64::to_ne_bytes).collect::<Vec<u8>>())
    }

    #[getter]
    fn epoch(&self) -> u64 {
        self.0.epoch
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

impl Decisions {
    /// A row for each node that is kept, and one without a node for room that is under limits only.
    fn kept_rows(&self) -> impl Iterator<Item = (&session::KeptRoom, u32)> {
        self.0.kept.iter().flat_map(|kept| {
            let nowhere = kept.nodes.is_empty().then_some(session::NONE);
            kept.nodes.iter().copied().chain(nowhere).map(move |node| (kept, node))
        })
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
