//! Session: columns or a document in, deltas in, decisions out as arrays.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gangplan_solver::Error;
use gangplan_solver::document::{self, Deltas, Snapshot};
use gangplan_solver::session::{Cause, Conflict, DocumentSession};
use pyo3::prelude::*;

use crate::buffers::Findings;
use crate::decisions::Decisions;
use crate::error::solver_error;
use crate::held::{Held, Shared};
use crate::{columns, delta_columns, entry};

#[pyclass(frozen, module = "gangplan._core")]
pub(crate) struct Session(Arc<Shared>);

#[pymethods]
impl Session {
    #[new]
    fn new(py: Python<'_>, columns: &Bound<'_, PyAny>, texts: &[u8]) -> PyResult<Self> {
        let mut findings = Findings::default();
        let columns = columns::read(columns, &mut findings)?;
        let texts = texts.to_vec();
        entry::call(py, move |_| columns::open(columns, findings, &texts).map(Held::Columns)).map(Self::of)
    }

    #[staticmethod]
    fn of_snapshot(py: Python<'_>, snapshot: &[u8]) -> PyResult<Self> {
        let snapshot = snapshot.to_vec();
        entry::call(py, move |_| {
            DocumentSession::open(document::read::<Snapshot>(&snapshot)?).map(Held::Document)
        })
        .map(Self::of)
    }

    fn solve(&self, py: Python<'_>, options: &[u8]) -> PyResult<Decisions> {
        let options = options.to_vec();
        self.ask(py, move |held, stop| held.solve(&options, stop)).map(Decisions)
    }

    fn plan(&self, py: Python<'_>, options: &[u8]) -> PyResult<Vec<u8>> {
        let options = options.to_vec();
        self.ask(py, move |held, stop| Ok(document::encode(&held.plan(&options, stop)?)))
    }

    fn explain(&self, py: Python<'_>, gang: u32, alone: bool, options: &[u8]) -> PyResult<Option<Vec<u8>>> {
        let options = options.to_vec();
        let explain = move |held: &mut Held, stop: &AtomicBool| {
            Ok(held.explain(gang, alone, &options, stop)?.map(|rejection| document::encode(&rejection)))
        };
        self.ask(py, explain)
    }

    fn apply(&self, py: Python<'_>, version: Option<u64>, deltas: &[u8]) -> PyResult<bool> {
        let deltas = deltas.to_vec();
        self.ask(py, move |held, stop| {
            let deltas = document::read::<Deltas>(&deltas)?;
            go_on(stop)?;
            held.apply(held.next(version), &deltas)
        })
    }

    fn apply_columns(
        &self,
        py: Python<'_>,
        version: Option<u64>,
        columns: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let mut findings = Findings::default();
        let columns = delta_columns::read(columns, &mut findings)?;
        self.ask(py, move |held, stop| {
            go_on(stop)?;
            delta_columns::apply(held, held.next(version), &columns, findings)
        })
    }

    fn commit(
        &self,
        py: Python<'_>,
        decisions: &Decisions,
        gangs: Option<Vec<u32>>,
    ) -> PyResult<Vec<(u32, &'static str, Option<u32>)>> {
        let decisions = match gangs {
            None => decisions.0.clone(),
            Some(gangs) => decisions.0.of(&gangs.into_iter().collect::<BTreeSet<u32>>()),
        };
        let conflicts = self.ask(py, move |held, stop| {
            go_on(stop)?;
            held.commit(&decisions)
        })?;
        Ok(conflicts.iter().map(told).collect())
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.ask(py, |held, _| Ok(held.snapshot()))
    }

    fn names(&self, py: Python<'_>) -> PyResult<[Vec<String>; 4]> {
        self.ask(py, |held, _| Ok(held.names()))
    }

    fn gang_row(&self, py: Python<'_>, name: &str) -> PyResult<Option<u32>> {
        let name = name.to_owned();
        self.ask(py, move |held, _| Ok(held.gang_row(&name)))
    }

    /// Panics during its turn: tests see what becomes of a bug of ours.
    fn panic(&self, py: Python<'_>, text: String) -> PyResult<()> {
        self.ask(py, move |_, _| panic!("{text}"))
    }

    #[getter]
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |held, _| Ok(held.epoch()))
    }

    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |held, _| Ok(held.version()))
    }
}

impl Session {
    fn of(held: Held) -> Self {
        Self(Arc::new(Shared::new(held)))
    }

    /// Asks the session through the door for long calls, when it is this thread's turn.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&mut Held, &AtomicBool) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        if self.0.is_left_behind() {
            let message = "another thread used this session when the process forked; open it anew here";
            return Err(solver_error(py, message));
        }
        if self.0.is_broken() {
            let message = "a bug ended another call while it used this session; open it anew";
            return Err(solver_error(py, message));
        }
        let shared = Arc::clone(&self.0);
        entry::call(py, move |stop| question(&mut shared.turn(), stop))
    }
}

/// Nothing is done any more once the caller has gone.
fn go_on(stop: &AtomicBool) -> Result<(), Error> {
    if stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}

fn told(conflict: &Conflict) -> (u32, &'static str, Option<u32>) {
    match conflict.cause {
        Cause::Structure => (conflict.gang, "structure", None),
        Cause::Gang => (conflict.gang, "gang", None),
        Cause::Queue => (conflict.gang, "queue", None),
        Cause::Node(node) => (conflict.gang, "node", Some(node)),
        Cause::Rule => (conflict.gang, "rule", None),
    }
}
