//! Bytes ↔ documents.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::schema::schema_of;
use super::structure::{faults, repair};
use super::validate::{self, Findings};
use super::{Deltas, Placements, Plan, Snapshot, SolveOptions, scan::scan, strict};
use crate::error::{Error, Problem, ProblemCode, natural_order};

/// A kind of document that crosses the border.
pub trait Document: DeserializeOwned + Serialize + JsonSchema {
    /// Its name in messages: `snapshot`, `options`, `plan`, `deltas`.
    const KIND: &'static str;

    /// Reports what the form alone cannot show: names that refer to nothing, quantities out of range, …
    #[doc(hidden)]
    fn judge(&self, findings: &mut Findings);
}

impl Document for Snapshot {
    const KIND: &'static str = "snapshot";

    fn judge(&self, findings: &mut Findings) {
        validate::snapshot(self, findings);
    }
}

impl Document for Deltas {
    const KIND: &'static str = "deltas";

    fn judge(&self, findings: &mut Findings) {
        validate::deltas(self, findings);
    }
}

impl Document for SolveOptions {
    const KIND: &'static str = "options";

    fn judge(&self, findings: &mut Findings) {
        validate::options(self, findings);
    }
}

impl Document for Plan {
    const KIND: &'static str = "plan";

    fn judge(&self, findings: &mut Findings) {
        // The rest of what a plan may say depends on its snapshot: `check` judges that.
        validate::plan(self, findings);
    }
}

/// Reads a document and judges it.
///
/// # Errors
/// [`Error::Invalid`] with all problems, ordered by path.
pub fn decode<T: Document>(bytes: &[u8]) -> Result<T, Error> {
    let document = read(bytes)?;
    sound(&document)?;
    Ok(document)
}

/// Reads a document that has the right form, whatever it says.
///
/// # Errors
/// [`Error::Invalid`] with all problems, those of meaning too, ordered by path.
pub fn read<T: Document>(bytes: &[u8]) -> Result<T, Error> {
    let document = strict::from_slice::<T>(bytes).ok();
    if let Some((document, false)) = document {
        return Ok(document);
    }
    let schema = schema_of::<T>();
    let found = match (scan(bytes, &schema), document) {
        (Ok(scanned), Some((document, _))) if scanned.is_empty() => return Ok(document),
        (Ok(scanned), _) => search_problems::<T>(bytes, &schema, scanned),
        (Err(error), _) => vec![malformed(&error)],
    };
    Err(invalid::<T>(found))
}

/// Judges a document that was not decoded but built.
///
/// # Errors
/// [`Error::Invalid`] with all problems, ordered by path.
pub(crate) fn sound<T: Document>(document: &T) -> Result<(), Error> {
    let mut findings = Findings::default();
    document.judge(&mut findings);
    if findings.problems.is_empty() { Ok(()) } else { Err(invalid::<T>(findings.problems)) }
}

/// Judges placements of the gangs of a sound snapshot.
///
/// # Errors
/// [`Error::Invalid`] with all problems, ordered by path.
pub(crate) fn known_placements(snapshot: &Snapshot, placements: &Placements) -> Result<(), Error> {
    let mut findings = Findings::default();
    validate::placements(snapshot, placements, &mut findings);
    if findings.problems.is_empty() { Ok(()) } else { Err(invalid::<Plan>(findings.problems)) }
}

fn invalid<T: Document>(mut found: Vec<Problem>) -> Error {
    found.sort_by(|a, b| natural_order(&a.path, &b.path).then_with(|| a.code.cmp(&b.code)));
    found.dedup();
    Error::Invalid { document: T::KIND, problems: found }
}

/// All problems of a document, ordered by path; empty if it is sound.
pub fn problems<T: Document>(bytes: &[u8]) -> Vec<Problem> {
    match decode::<T>(bytes) {
        Err(Error::Invalid { problems, .. }) => problems,
        Ok(_) | Err(Error::Interrupted) => Vec::new(),
    }
}

/// Writes a document: fields in the order of the format, maps by key.
///
/// # Panics
/// Never for documents: they hold texts, numbers, lists and maps by text only.
pub fn encode<T: Serialize>(document: &T) -> Vec<u8> {
    serde_json::to_vec(document).expect("documents hold texts, numbers, lists and maps by text only")
}

/// The JSON schema of a document as text.
pub fn schema<T: Document>() -> String {
    schema_of::<T>().to_string()
}

/// The slow way, for a document that does not decode: problems of form, then what can be said of the rest.
fn search_problems<T: Document>(bytes: &[u8], schema: &Value, mut found: Vec<Problem>) -> Vec<Problem> {
    let mut value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return vec![malformed(&error)],
    };
    let faults = faults(schema, &value);
    repair(schema, &mut value, &faults);
    // A number that is no number of ours may also stand where none belongs: one problem a place is enough.
    found.retain(|problem| !faults.iter().any(|fault| fault.problem.path == problem.path));
    let mut findings = Findings::default();
    if let Ok(document) = serde_json::from_value::<T>(value) {
        document.judge(&mut findings);
    }
    // What was repaired is not judged, and a name that was lost may be the one that others mean.
    findings.problems.retain(|problem| {
        let repaired = faults.iter().any(|fault| lies_in(&problem.path, &fault.problem.path));
        let lost = || faults.iter().any(|fault| fault.loses_name_in(referred_list(&problem.path)));
        !repaired && (problem.code != ProblemCode::UnknownName || !lost())
    });
    found.extend(faults.into_iter().map(|fault| fault.problem));
    found.extend(findings.problems);
    if found.is_empty() {
        let error = serde_json::from_slice::<T>(bytes).err();
        found.push(Problem {
            path: "$".to_owned(),
            code: ProblemCode::BadValue,
            message: error.map_or_else(|| "cannot be read".to_owned(), |error| error.to_string()),
        });
    }
    found
}

fn malformed(error: &serde_json::Error) -> Problem {
    Problem {
        path: "$".to_owned(),
        code: ProblemCode::MalformedJson,
        message: format!("is not JSON: {error}"),
    }
}

fn lies_in(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The list in which the name that a field holds should stand.
fn referred_list(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, field)| field) {
        "node" => "nodes",
        "parent" if path.starts_with("$.gangs") => "gangs",
        "queue" | "parent" => "queues",
        "required" | "preferred" | "level" => "topology",
        _ => "gangs",
    }
}
