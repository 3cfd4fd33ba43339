//! Problems of form: fields that are missing, unknown or of the wrong type, all at once, in our own words.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::path::Path;
use super::schema::{schema_at, smallest};
use crate::error::{Problem, ProblemCode};

/// A problem of form, and the JSON pointer of the place that it makes unusable.
pub(crate) struct Fault {
    pub(crate) problem: Problem,
    steps: Vec<String>,
}

impl Fault {
    /// Whether a name in the list `list` of the document, or in one of its items, was lost with this place.
    pub(crate) fn loses_name_in(&self, list: &str) -> bool {
        let in_list = self.steps.first().is_none_or(|first| first == list);
        let named = |last: &String| {
            ["name", "roles", "groups", "set", list].contains(&last.as_str()) || last.parse::<usize>().is_ok()
        };
        in_list && self.problem.code != ProblemCode::UnknownField && self.steps.last().is_none_or(named)
    }
}

/// All problems of form of `document` under `schema`.
pub(crate) fn faults(schema: &Value, document: &Value) -> Vec<Fault> {
    let validator = jsonschema::validator_for(schema).expect("our own schema is a valid schema");
    let mut faults = Vec::new();
    for error in validator.iter_errors(document) {
        translate(schema, document, &error, &mut faults);
    }
    faults
}

/// Puts the smallest valid value in the place of each fault, so that the rest can be judged.
pub(crate) fn repair(schema: &Value, document: &mut Value, faults: &[Fault]) {
    for fault in faults {
        let Some((last, parents)) = fault.steps.split_last() else {
            *document = smallest(schema, schema);
            continue;
        };
        let Some(parent) = document.pointer_mut(&pointer(parents)) else { continue };
        let replacement = schema_at(schema, &fault.steps).map(|inner| smallest(schema, inner));
        match (parent, replacement) {
            (Value::Object(fields), _) if fault.problem.code == ProblemCode::UnknownField => {
                fields.remove(last);
            }
            (Value::Object(fields), Some(value)) => {
                fields.insert(last.clone(), value);
            }
            (Value::Array(items), Some(value)) => {
                if let Some(item) = last.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                    *item = value;
                }
            }
            _ => {}
        }
    }
}

fn translate(schema: &Value, document: &Value, error: &ValidationError<'_>, faults: &mut Vec<Fault>) {
    let steps = steps_of(error.instance_path().as_str());
    let mut add = |steps: Vec<String>, code: ProblemCode, message: String| {
        faults.push(Fault { problem: Problem { path: json_path(document, &steps), code, message }, steps });
    };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for name in unexpected {
                let message = format!("unknown field '{name}'{}", suggestion(schema, &steps, name));
                add(with(&steps, name), ProblemCode::UnknownField, message);
            }
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            add(with(&steps, name), ProblemCode::MissingField, "is missing".to_owned());
        }
        ValidationErrorKind::Type { kind } => {
            let message = format!("must be {}, not {}", wanted(kind), found(error.instance()));
            add(steps, ProblemCode::WrongType, message);
        }
        ValidationErrorKind::Enum { options } if steps == ["version"] => {
            let message = format!("version {} is not supported, only {}", error.instance(), options[0]);
            add(steps, ProblemCode::UnsupportedVersion, message);
        }
        ValidationErrorKind::Enum { options } => {
            let names: Vec<String> =
                options.as_array().into_iter().flatten().map(ToString::to_string).collect();
            let message = format!("must be one of {}, not {}", names.join(", "), error.instance());
            add(steps, ProblemCode::BadValue, message);
        }
        // An optional value: the first branch is the present one, the other is null.
        ValidationErrorKind::AnyOf { context } => {
            for inner in context.first().into_iter().flatten() {
                translate(schema, document, inner, faults);
            }
        }
        _ => add(steps, ProblemCode::BadValue, error.to_string()),
    }
}

fn suggestion(schema: &Value, steps: &[String], name: &str) -> String {
    let known = schema_at(schema, steps).and_then(|inner| inner.get("properties")?.as_object());
    known
        .into_iter()
        .flat_map(|fields| fields.keys())
        .map(|field| (strsim::damerau_levenshtein(field, name), field))
        .filter(|(distance, field)| *distance <= 2 && *distance < field.len())
        .min()
        .map_or(String::new(), |(_, field)| format!("; did you mean '{field}'?"))
}

fn wanted(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => name_of(*one).to_owned(),
        TypeKind::Multiple(_) => "of another type".to_owned(),
    }
}

fn name_of(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a text",
    }
}

fn found(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        plain => plain.to_string(),
    }
}

fn with(steps: &[String], last: &str) -> Vec<String> {
    steps.iter().cloned().chain([last.to_owned()]).collect()
}

fn steps_of(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

fn pointer(steps: &[String]) -> String {
    steps
        .iter()
        .fold(String::new(), |text, step| format!("{text}/{}", step.replace('~', "~0").replace('/', "~1")))
}

/// The path of a place as people read it; whether a step is an index only the document can tell.
fn json_path(document: &Value, steps: &[String]) -> String {
    fn extend(document: Option<&Value>, path: &Path<'_>, steps: &[String]) -> String {
        let Some((first, rest)) = steps.split_first() else { return path.to_string() };
        match (document, first.parse()) {
            (Some(Value::Array(items)), Ok(index)) => extend(items.get(index), &path.item(index), rest),
            (inside, _) => extend(inside.and_then(|object| object.get(first)), &path.field(first), rest),
        }
    }
    extend(Some(document), &Path::Root, steps)
}
