//! The JSON schema of each document, in the form that msgspec gives for the Python dataclasses.

use schemars::{JsonSchema, Schema, SchemaGenerator, transform::transform_subschemas};
use serde_json::{Map, Value, json};

/// The JSON schema of a document.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>();
    plain(&mut schema);
    schema.to_value()
}

/// Drops what only schemars says and writes enums and optional values as msgspec does.
fn plain(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        // Descriptions belong to the structs, sizes of integers to `scan`.
        for key in ["description", "format", "minimum"] {
            object.remove(key);
        }
        if let Some(names) = object.get("oneOf").and_then(constants) {
            object.remove("oneOf");
            object.insert("enum".into(), names);
        }
        if object.contains_key("enum") {
            object.remove("type");
        }
        // A default that is a whole document is written by its own fields.
        if object.contains_key("$ref") {
            object.remove("default");
        }
        if let Some(Value::Array(types)) = object.get("type").cloned() {
            object.remove("type");
            let entries = object.remove("additionalProperties");
            let branch = |name: &Value| match &entries {
                Some(entries) if name == "object" => json!({ "type": name, "additionalProperties": entries }),
                _ => json!({ "type": name }),
            };
            object.insert("anyOf".into(), types.iter().map(branch).collect());
        }
    }
    transform_subschemas(&mut plain, schema);
}

/// The sorted names of a `oneOf` whose branches each name constants; none for any other.
fn constants(branches: &Value) -> Option<Value> {
    let mut names = Vec::new();
    for branch in branches.as_array()? {
        match (branch.get("const"), branch.get("enum")) {
            (Some(name), _) => names.push(name.as_str()?.to_owned()),
            (None, Some(many)) => {
                names.extend(many.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            (None, None) => return None,
        }
    }
    names.sort();
    Some(names.into())
}

/// What a schema says once references are followed; of an optional value, what a present one must be.
pub(crate) fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    loop {
        let next = match (schema.get("$ref"), schema.get("anyOf")) {
            (Some(Value::String(reference)), _) => root.pointer(reference.trim_start_matches('#')),
            (_, Some(Value::Array(branches))) => branches.first(),
            _ => None,
        };
        match next {
            Some(next) => schema = next,
            None => return schema,
        }
    }
}

/// The schema of the field or item `step` of a place with `schema`.
pub(crate) fn inside<'a>(root: &'a Value, schema: &'a Value, step: &str) -> Option<&'a Value> {
    let next = schema
        .get("properties")
        .and_then(|properties| properties.get(step))
        .or_else(|| schema.get("additionalProperties").filter(|more| more.is_object()))
        .or_else(|| schema.get("items"))?;
    Some(resolve(root, next))
}

/// The schema of the place that `steps`, the tokens of a JSON pointer, lead to.
pub(crate) fn schema_at<'a>(root: &'a Value, steps: &[String]) -> Option<&'a Value> {
    steps.iter().try_fold(resolve(root, root), |schema, step| inside(root, schema, step))
}

/// The smallest value that a schema accepts.
pub(crate) fn smallest(root: &Value, schema: &Value) -> Value {
    let schema = resolve(root, schema);
    if let Some(first) = schema.get("enum").and_then(|names| names.get(0)) {
        return first.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "".into(),
        Some("integer") => 1.into(),
        Some("boolean") => false.into(),
        Some("array") => Value::Array(Vec::new()),
        Some("object") => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let fields = required.filter_map(Value::as_str).map(|name| {
                let inner = schema.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null);
                (name.to_owned(), smallest(root, inner))
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
        _ => Value::Null,
    }
}
