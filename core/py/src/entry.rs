//! The one door for long calls: interpreter released, Ctrl-C works, panics and errors become exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use gangplan_solver::Error;
use pyo3::prelude::*;

use crate::error::{core_error, solver_error};

/// How long Ctrl-C may wait; long enough to cost nothing.
const POLL: Duration = Duration::from_millis(20);

/// Runs `work` beside the interpreter. It gets a flag that is set when it should end early.
///
/// # Errors
/// What `work` returns or how it panics, as Python exceptions; `KeyboardInterrupt` on Ctrl-C.
pub(crate) fn call<T, W>(py: Python<'_>, work: W) -> PyResult<T>
where
    T: Send,
    W: FnOnce(&AtomicBool) -> Result<T, Error> + Send,
{
    let stop = AtomicBool::new(false);
    let waiter = thread::current();
    thread::scope(|scope| {
        let run = || {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&stop)));
            waiter.unpark();
            outcome
        };
        let worker = thread::Builder::new()
            .name("gangplan".to_owned())
            .spawn_scoped(scope, run)
            .map_err(|error| solver_error(py, &format!("cannot start a thread: {error}")))?;
        let mut interrupt = None;
        while !worker.is_finished() {
            py.detach(|| thread::park_timeout(POLL));
            if interrupt.is_none()
                && let Err(signal) = py.check_signals()
            {
                stop.store(true, Ordering::Relaxed);
                interrupt = Some(signal);
            }
        }
        let outcome = worker.join().and_then(|outcome| outcome);
        match (interrupt, outcome) {
            (Some(signal), _) => Err(signal),
            (None, Ok(result)) => result.map_err(|error| core_error(py, error)),
            (None, Err(panic)) => Err(solver_error(py, &panic_text(panic.as_ref()))),
        }
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    format!("the solver broke an invariant ({text}); please report it with the document that was solved")
}
