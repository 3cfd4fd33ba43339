//! Errors of the solver → the exception classes of `gangplan.errors`, which are imported when first needed.

use gangplan_solver::document::QuantityError;
use gangplan_solver::{Error, Problem, ProblemCode};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// The exception for an error of the solver.
pub(crate) fn core_error(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Invalid { document, problems } => invalid(py, "InvalidInput", &problems, document),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
    }
}

/// The exception for a text that is no quantity.
pub(crate) fn quantity_error(py: Python<'_>, text: &str, error: QuantityError) -> PyErr {
    let code = match error {
        QuantityError::Malformed => ProblemCode::BadQuantity,
        QuantityError::OutOfRange => ProblemCode::OutOfRange,
    };
    let problem = Problem { path: "$".to_owned(), code, message: format!("\"{text}\" {error}") };
    invalid(py, "InvalidQuantity", &[problem], "quantity")
}

/// `SolverError`: a bug, or a request that is not supported.
pub(crate) fn solver_error(py: Python<'_>, message: &str) -> PyErr {
    let build = || class(py, "SolverError")?.call1((message,));
    build().map_or_else(|failure| failure, PyErr::from_value)
}

fn invalid(py: Python<'_>, name: &str, problems: &[Problem], source: &str) -> PyErr {
    let build = || {
        let problem_class = class(py, "Problem")?;
        let list = PyList::empty(py);
        for problem in problems {
            let code = code_text(problem.code);
            list.append(problem_class.call1((&problem.path, code, &problem.message))?)?;
        }
        class(py, name)?.call1((list, source))
    };
    build().map_or_else(|failure| failure, PyErr::from_value)
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("gangplan.errors")?.getattr(name)
}

fn code_text(code: ProblemCode) -> String {
    serde_json::to_value(code).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
