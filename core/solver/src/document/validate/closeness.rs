//! Closeness: levels are known, sizes positive, layers nest.

use std::collections::BTreeSet;

use super::{Findings, MOST_REPLICAS};
use crate::document::{Closeness, Path};
use crate::error::ProblemCode;

/// More layers of slices than this are refused, as in Kueue.
const MOST_LAYERS: usize = 3;

pub(super) fn closeness(
    asked: Option<&Closeness>,
    topology: &[String],
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let Some(asked) = asked else { return };
    let mut known: BTreeSet<&str> = topology.iter().map(String::as_str).collect();
    known.insert("node");
    for (field, level) in [("required", &asked.required), ("preferred", &asked.preferred)] {
        if let Some(level) = level {
            findings.reference(level, &known, "topology level", &path.field(field));
        }
    }
    let depth = |level: &str| {
        topology.iter().position(|key| key == level).or((level == "node").then_some(topology.len()))
    };
    let layers: Vec<(&str, i64)> =
        asked.slices.iter().map(|slice| (slice.level.as_str(), slice.size)).collect();
    counts(&layers, "size", &known, &path.field("slices"), findings);
    nesting(&layers, &depth, &path.field("slices"), findings);
    let caps: Vec<(&str, i64)> = asked.spread.iter().map(|cap| (cap.level.as_str(), cap.most)).collect();
    counts(&caps, "most", &known, &path.field("spread"), findings);
}

/// Levels with counts: each level is known and stands once, each count is positive.
fn counts(
    given: &[(&str, i64)],
    field: &str,
    known: &BTreeSet<&str>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let mut seen = BTreeSet::new();
    for (index, (level, count)) in given.iter().enumerate() {
        let path = path.item(index);
        findings.reference(level, known, "topology level", &path.field("level"));
        if !seen.insert(level) {
            let message = format!("the level '{level}' stands here twice");
            findings.report(&path.field("level"), ProblemCode::DuplicateName, message);
        }
        if !(1..=MOST_REPLICAS).contains(count) {
            let message = format!("must be from 1 to {MOST_REPLICAS}, not {count}");
            findings.report(&path.field(field), ProblemCode::OutOfRange, message);
        }
    }
}

/// A slice of an outer level is made of whole slices of the inner ones.
fn nesting(
    layers: &[(&str, i64)],
    depth: &dyn Fn(&str) -> Option<usize>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    if layers.len() > MOST_LAYERS {
        let message = format!("must be at most {MOST_LAYERS} layers, not {}", layers.len());
        findings.report(path, ProblemCode::OutOfRange, message);
    }
    for (index, (level, size)) in layers.iter().enumerate() {
        for (inner, part) in layers {
            if depth(inner) > depth(level) && *part > 0 && *size > 0 && size % part != 0 {
                let message =
                    format!("must be a multiple of {part}, the size of the slices of '{inner}', not {size}");
                let path = path.item(index);
                findings.report(&path.field("size"), ProblemCode::Contradiction, message);
            }
        }
    }
}
