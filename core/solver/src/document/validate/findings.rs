//! The list of problems that a judgement fills, and the questions that every part asks.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Path, QuantityError, Rounding, parse_quantity};
use crate::error::{Problem, ProblemCode};

/// Problems found so far.
#[derive(Debug, Default)]
pub struct Findings {
    pub(crate) problems: Vec<Problem>,
}

impl Findings {
    /// Adds a problem.
    pub(super) fn report(&mut self, path: &Path<'_>, code: ProblemCode, message: impl Into<String>) {
        self.problems.push(Problem { path: path.to_string(), code, message: message.into() });
    }

    /// Every quantity must parse, fit and not be negative.
    pub(super) fn quantities(
        &mut self,
        amounts: &BTreeMap<String, String>,
        path: &Path<'_>,
        rounding: Rounding,
    ) {
        for (resource, text) in amounts {
            let (code, message) = match parse_quantity(resource, text, rounding) {
                Ok(0..) => continue,
                Ok(..0) => (ProblemCode::OutOfRange, format!("must not be negative: \"{text}\"")),
                Err(error @ QuantityError::Malformed) => {
                    (ProblemCode::BadQuantity, format!("\"{text}\" {error}"))
                }
                Err(error @ QuantityError::OutOfRange) => {
                    (ProblemCode::OutOfRange, format!("\"{text}\" {error}"))
                }
            };
            self.report(&path.field(resource), code, message);
        }
    }

    /// A name must not be empty, and must not have been seen; `what` it names is for the message.
    pub(super) fn name<'a>(
        &mut self,
        name: &'a str,
        seen: &mut BTreeSet<&'a str>,
        what: &str,
        path: &Path<'_>,
    ) {
        if name.is_empty() {
            self.report(path, ProblemCode::BadValue, "must not be empty");
        } else if !seen.insert(name) {
            self.report(path, ProblemCode::DuplicateName, format!("there is another {what} '{name}'"));
        }
    }

    /// A reference must name something that is there.
    pub(super) fn reference(&mut self, name: &str, known: &BTreeSet<&str>, what: &str, path: &Path<'_>) {
        if !known.contains(name) {
            let near = known
                .iter()
                .map(|other| (strsim::damerau_levenshtein(other, name), *other))
                .filter(|(distance, other)| *distance <= 2 && *distance < other.len())
                .min()
                .map_or(String::new(), |(_, other)| format!("; did you mean '{other}'?"));
            self.report(path, ProblemCode::UnknownName, format!("there is no {what} '{name}'{near}"));
        }
    }
}
