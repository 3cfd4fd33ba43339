//! What can go wrong: bad input, or the caller stopped us. A gang that does not fit is neither.

use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;

/// A failure of a call into the solver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The document is malformed or contradicts itself; nothing was done with it.
    #[error("{document}: {} problem(s), the first: {}", problems.len(), problems.first().map_or(String::new(), ToString::to_string))]
    Invalid {
        /// Which document: `snapshot`, `options` or `plan`.
        document: &'static str,
        /// All problems, ordered by path. Never empty.
        problems: Vec<Problem>,
    },
    /// The caller set the stop flag.
    #[error("stopped by the caller")]
    Interrupted,
}

impl Error {
    /// Bad input, with its problems put in the order of their paths.
    pub fn invalid(document: &'static str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by(|a, b| natural_order(&a.path, &b.path).then_with(|| a.code.cmp(&b.code)));
        problems.dedup();
        Self::Invalid { document, problems }
    }
}

/// One thing that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where, as a JSON path: `$.gangs[3].roles[0].replicas`.
    pub path: String,
    /// The kind of problem.
    pub code: ProblemCode,
    /// What was wanted and what was found.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Kinds of problem, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProblemCode {
    /// A field that has no default is absent.
    MissingField,
    /// A field that the format does not know.
    UnknownField,
    /// A text where a number is wanted, and the like.
    WrongType,
    /// Right type, but not one of the allowed values or forms.
    BadValue,
    /// A name that must be unique is not; also a key that stands twice in one object.
    DuplicateName,
    /// A name that refers to nothing.
    UnknownName,
    /// A resource quantity that cannot be read.
    BadQuantity,
    /// A number or quantity that is too small or too large.
    OutOfRange,
    /// Queues or groups that are above themselves.
    Cycle,
    /// Two parts that cannot both hold.
    Contradiction,
    /// Not JSON at all.
    MalformedJson,
    /// A format version that this build cannot read.
    UnsupportedVersion,
}

/// Compares texts with the numbers in them as numbers, so that `[2]` comes before `[10]`.
pub(crate) fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (Some(x), Some(y)) = (a.chars().next(), b.chars().next()) else {
            return a.len().cmp(&b.len());
        };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (digits_a, rest_a) = split_digits(a);
            let (digits_b, rest_b) = split_digits(b);
            let order = digits_a.len().cmp(&digits_b.len()).then_with(|| digits_a.cmp(digits_b));
            if order.is_ne() {
                return order;
            }
            (a, b) = (rest_a, rest_b);
        } else if x == y {
            (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]);
        } else {
            return x.cmp(&y);
        }
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}
