//! Buffers and plain sequences of Python → vectors. What is wrong is noted, with its path, and reading goes on.

use gangplan_solver::session::NONE;
use gangplan_solver::{Problem, ProblemCode};
use pyo3::buffer::{Element, ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyList, PyMemoryView, PyString, PyTuple};

/// A column can be wrong a million times over; so many problems say enough.
const MOST_PROBLEMS: usize = 1000;

/// What was wrong with the columns that were read so far.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) problems: Vec<Problem>,
    /// Paths of columns of which not a single row could be read.
    pub(crate) lost: Vec<String>,
}

impl Findings {
    pub(crate) fn report(&mut self, path: String, code: ProblemCode, message: String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem { path, code, message });
        }
    }

    pub(crate) fn lose(&mut self, path: &str, code: ProblemCode, message: String) {
        self.report(path.to_owned(), code, message);
        self.lost.push(path.to_owned());
    }
}

/// What a column of numbers holds.
pub(crate) trait Number: Copy + TryFrom<i64> + TryFrom<u64> {
    /// Stands where a row could not be read.
    const STAND_IN: Self;
    const WANTED: &'static str;

    /// What `None` means in a plain sequence.
    fn none() -> Option<Self> {
        None
    }
}

impl Number for i64 {
    const STAND_IN: Self = 0;
    const WANTED: &'static str = "must be an integer that fits 64 bits";
}

impl Number for u32 {
    const STAND_IN: Self = NONE;
    const WANTED: &'static str = "must be a position: from 0, in 32 bits";

    fn none() -> Option<Self> {
        Some(NONE)
    }
}

/// A column of integers: a buffer of any integers, or a sequence of `int`.
pub(crate) fn numbers<T: Number + Element>(
    value: &Bound<'_, PyAny>,
    path: &str,
    findings: &mut Findings,
) -> PyResult<Vec<T>> {
    if let Some(buffer) = buffer(value) {
        if !one_dimension(&buffer, path, findings) {
            return Ok(Vec::new());
        }
        let at = |row| format!("{path}[{row}]");
        return Ok(integers(value, &buffer, path, at, findings)?.unwrap_or_default());
    }
    let mut column = Vec::new();
    let mut row = 0;
    each(value, path, "integers", findings, |item, findings| {
        column.push(integer(item, || format!("{path}[{row}]"), findings)?);
        row += 1;
        Ok(())
    })?;
    Ok(column)
}

/// A column of amounts for each resource: a buffer of two dimensions, or a sequence of columns.
pub(crate) fn table(
    value: &Bound<'_, PyAny>,
    path: &str,
    findings: &mut Findings,
) -> PyResult<Vec<Vec<i64>>> {
    if let Some(buffer) = buffer(value) {
        let [columns, rows] = *buffer.shape() else {
            let message =
                format!("must have two dimensions, resources and rows, not {}", buffer.dimensions());
            findings.lose(path, ProblemCode::BadValue, message);
            return Ok(Vec::new());
        };
        if !contiguous(&buffer, path, findings) {
            return Ok(Vec::new());
        }
        let at = |item: usize| format!("{path}[{}][{}]", item / rows, item % rows);
        let Some(flat) = integers(value, &buffer, path, at, findings)? else {
            return Ok(Vec::new());
        };
        return Ok((0..columns).map(|column| flat[column * rows..][..rows].to_vec()).collect());
    }
    let mut columns = Vec::new();
    each(value, path, "columns of integers", findings, |item, findings| {
        columns.push(numbers(item, &format!("{path}[{}]", columns.len()), findings)?);
        Ok(())
    })?;
    Ok(columns)
}

/// A column of truths: a buffer of booleans, or a sequence of `bool`.
pub(crate) fn truths(value: &Bound<'_, PyAny>, path: &str, findings: &mut Findings) -> PyResult<Vec<bool>> {
    if let Some(buffer) = buffer(value) {
        if !one_dimension(&buffer, path, findings) {
            return Ok(Vec::new());
        }
        if buffer.format() != c"?" {
            let message = format!("must hold booleans, not {}", kind(value, &buffer));
            findings.lose(path, ProblemCode::WrongType, message);
            return Ok(Vec::new());
        }
        let bytes = PyMemoryView::from(value)?.call_method1("cast", ("B",))?;
        let bytes = PyUntypedBuffer::get(&bytes)?;
        return Ok(bytes.as_typed::<u8>()?.to_vec(value.py())?.into_iter().map(|byte| byte != 0).collect());
    }
    let mut column = Vec::new();
    each(value, path, "booleans", findings, |item, findings| {
        let truth = item.extract::<bool>().unwrap_or_else(|_| {
            let message = format!("must be True or False, not {}", shown(item));
            findings.report(format!("{path}[{}]", column.len()), ProblemCode::WrongType, message);
            false
        });
        column.push(truth);
        Ok(())
    })?;
    Ok(column)
}

/// A column of texts: a sequence of `str`, or an array of them.
pub(crate) fn texts(value: &Bound<'_, PyAny>, path: &str, findings: &mut Findings) -> PyResult<Vec<String>> {
    let mut column = Vec::with_capacity(if is_plain(value) { value.len()? } else { 0 });
    let plain = !is_plain(value) && value.hasattr("tolist")?;
    let value = if plain { &value.call_method0("tolist")? } else { value };
    each(value, path, "texts", findings, |item, findings| {
        let text = match item.extract::<String>() {
            Ok(text) => text,
            Err(error) => {
                let (code, message) = if error.is_instance_of::<PyUnicodeEncodeError>(item.py()) {
                    (ProblemCode::BadValue, "has half a character, which is no text".to_owned())
                } else {
                    (ProblemCode::WrongType, format!("must be a text, not {}", shown(item)))
                };
                findings.report(format!("{path}[{}]", column.len()), code, message);
                // No name that can be given twice.
                format!("\0{}", column.len())
            }
        };
        column.push(text);
        Ok(())
    })?;
    Ok(column)
}

/// Calls `take` with each item of a sequence; notes it if it is none.
pub(crate) fn each(
    value: &Bound<'_, PyAny>,
    path: &str,
    wanted: &str,
    findings: &mut Findings,
    mut take: impl FnMut(&Bound<'_, PyAny>, &mut Findings) -> PyResult<()>,
) -> PyResult<()> {
    let text = value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>();
    if text || !(is_plain(value) || is_sequence(value)?) {
        let message = format!("must be a sequence of {wanted}, not {}", shown(value));
        findings.lose(path, ProblemCode::WrongType, message);
        return Ok(());
    }
    for item in value.try_iter()? {
        take(&item?, findings)?;
    }
    Ok(())
}

/// A value in a message: short, and never a failure.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let of_type = value.get_type().name().map_or_else(|_| "something".to_owned(), |name| name.to_string());
    if value.is_none() || value.is_instance_of::<PyBool>() {
        return value.to_string();
    }
    match value.extract::<f64>() {
        Ok(number) => format!("{of_type} {number}"),
        Err(_) => of_type,
    }
}

/// Asks Python, where Ctrl-C may come: the test of `PyO3` would lose it.
fn is_sequence(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.is_instance(&value.py().import("collections.abc")?.getattr("Sequence")?)
}

fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}

fn buffer(value: &Bound<'_, PyAny>) -> Option<PyUntypedBuffer> {
    if is_plain(value) { None } else { PyUntypedBuffer::get(value).ok() }
}

fn one_dimension(buffer: &PyUntypedBuffer, path: &str, findings: &mut Findings) -> bool {
    if buffer.dimensions() != 1 {
        let message = format!("must have one dimension, not {}", buffer.dimensions());
        findings.lose(path, ProblemCode::BadValue, message);
        return false;
    }
    contiguous(buffer, path, findings)
}

fn contiguous(buffer: &PyUntypedBuffer, path: &str, findings: &mut Findings) -> bool {
    let right = buffer.is_c_contiguous();
    if !right {
        let message = "must be contiguous, row by row; numpy.ascontiguousarray makes a copy that is";
        findings.lose(path, ProblemCode::BadValue, message.to_owned());
    }
    right
}

/// What a buffer holds, for people: the dtype of an array, else the format.
fn kind(value: &Bound<'_, PyAny>, buffer: &PyUntypedBuffer) -> String {
    value.getattr("dtype").map_or_else(
        |_| format!("items of format '{}'", buffer.format().to_string_lossy()),
        |kind| kind.to_string(),
    )
}

/// All items of a contiguous buffer; None, with a note at the column, if they are no integers.
fn integers<T: Number + Element>(
    value: &Bound<'_, PyAny>,
    buffer: &PyUntypedBuffer,
    path: &str,
    at: impl Fn(usize) -> String,
    findings: &mut Findings,
) -> PyResult<Option<Vec<T>>> {
    let py = value.py();
    let kind_of = ElementType::from_format(buffer.format());
    // Without items a buffer may begin anywhere, even where no integer can.
    if buffer.item_count() == 0
        && matches!(kind_of, ElementType::SignedInteger { .. } | ElementType::UnsignedInteger { .. })
    {
        return Ok(Some(Vec::new()));
    }
    let foreign = is_foreign(buffer);
    if !foreign && let Ok(same) = buffer.as_typed::<T>() {
        return same.to_vec(py).map(Some);
    }
    macro_rules! widened {
        ($($narrow:ty => $wide:ty),*) => {
            $(if !foreign && let Ok(items) = buffer.as_typed::<$narrow>() {
                let items = items.to_vec(py)?.into_iter().map(<$wide>::from);
                return Ok(Some(fitted(items, at, findings)));
            })*
        };
    }
    widened!(i64 => i64, u64 => u64, i32 => i64, u32 => u64, i16 => i64, u16 => u64, i8 => i64, u8 => u64);
    let message = format!("must hold integers, as the machine keeps them, not {}", kind(value, buffer));
    findings.lose(path, ProblemCode::WrongType, message);
    Ok(None)
}

/// Whether the bytes of an item are in the order of other machines. `PyBuffer` takes such items for its own.
fn is_foreign(buffer: &PyUntypedBuffer) -> bool {
    let foreign: &[u8] = if cfg!(target_endian = "little") { b">!" } else { b"<" };
    buffer.format().to_bytes().first().is_some_and(|order| foreign.contains(order))
}

/// Integers of another width.
fn fitted<T: Number + TryFrom<W>, W: Copy + std::fmt::Display>(
    items: impl Iterator<Item = W>,
    path: impl Fn(usize) -> String,
    findings: &mut Findings,
) -> Vec<T> {
    let fit = |(row, item): (usize, W)| {
        T::try_from(item).unwrap_or_else(|_| {
            findings.report(path(row), ProblemCode::OutOfRange, format!("{}, not {item}", T::WANTED));
            T::STAND_IN
        })
    };
    items.enumerate().map(fit).collect()
}

/// An integer, such as an item of a plain sequence.
pub(crate) fn integer<T: Number>(
    item: &Bound<'_, PyAny>,
    path: impl Fn() -> String,
    findings: &mut Findings,
) -> PyResult<T> {
    if item.is_none()
        && let Some(none) = T::none()
    {
        return Ok(none);
    }
    let mut report = |code, found: String| {
        findings.report(path(), code, format!("{}, not {found}", T::WANTED));
        Ok(T::STAND_IN)
    };
    if item.is_instance_of::<PyBool>() {
        return report(ProblemCode::WrongType, shown(item));
    }
    match item.extract::<i64>() {
        Ok(number) => match T::try_from(number) {
            Ok(number) => Ok(number),
            Err(_) => report(ProblemCode::OutOfRange, number.to_string()),
        },
        Err(error) if error.is_instance_of::<PyOverflowError>(item.py()) => {
            report(ProblemCode::OutOfRange, "one that is longer".to_owned())
        }
        Err(error) if error.is_instance_of::<PyTypeError>(item.py()) => {
            report(ProblemCode::WrongType, shown(item))
        }
        Err(error) => Err(error),
    }
}
