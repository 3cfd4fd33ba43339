//! The one door for long calls: interpreter released, Ctrl-C works, panics and errors become exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use gangplan_solver::Error;
use pyo3::prelude::*;

use crate::error::{core_error, solver_error};
use crate::workers;

/// How long Ctrl-C may wait; long enough to cost nothing.
const POLL: Duration = Duration::from_millis(20);

/// Runs `work` in a thread beside that of the interpreter. It gets a flag that is set when it should end early. On Ctrl-C
/// nobody waits for it: it owns what it works on, and ends by itself when it next looks at the flag.
///
/// # Errors
/// What `work` returns or how it panics, as Python exceptions; `KeyboardInterrupt` on Ctrl-C.
pub(crate) fn call<T, W>(py: Python<'_>, work: W) -> PyResult<T>
where
    T: Send + 'static,
    W: FnOnce(&AtomicBool) -> Result<T, Error> + Send + 'static,
{
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let (sender, mut receiver) = mpsc::channel();
    let job = move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&flag)));
        // Nobody receives after Ctrl-C; then the outcome matters no more.
        Box::new(move || drop(sender.send(outcome))) as workers::Told
    };
    workers::run(Box::new(job))
        .map_err(|error| solver_error(py, &format!("cannot start a thread: {error}")))?;
    loop {
        // The receiver goes along and comes back: it may not be shared while the interpreter is released.
        let outcome;
        (receiver, outcome) = py.detach(move || {
            let outcome = receiver.recv_timeout(POLL);
            (receiver, outcome)
        });
        match outcome {
            Ok(Ok(result)) => return result.map_err(|error| core_error(py, error)),
            Ok(Err(panic)) => return Err(solver_error(py, &panic_text(panic.as_ref()))),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(solver_error(py, "the solver's thread is gone"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(signal) = py.check_signals() {
            stop.store(true, Ordering::Relaxed);
            return Err(signal);
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    format!("the solver broke an invariant ({text}); please report it with the document that was solved")
}
