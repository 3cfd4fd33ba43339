//! What serde forgives: keys that stand twice in one object, lists in the place of objects, and numbers that no
//! field can hold.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use serde_json::Value;

use super::path::Path;
use super::schema::inside;
use crate::error::{Problem, ProblemCode};

/// Reads `bytes` to the end and returns what only a look at the text can show.
///
/// # Errors
/// When the text is not JSON.
pub(crate) fn scan(bytes: &[u8], schema: &Value) -> Result<Vec<Problem>, serde_json::Error> {
    let mut problems = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let top = Scan { root: schema, schema: Some(schema), path: &Path::Root, problems: &mut problems };
    top.deserialize(&mut reader)?;
    reader.end()?;
    Ok(problems)
}

struct Scan<'a> {
    root: &'a Value,
    /// What should stand here; none inside an unknown field.
    schema: Option<&'a Value>,
    path: &'a Path<'a>,
    problems: &'a mut Vec<Problem>,
}

impl Scan<'_> {
    /// The same for the field or item `step` of this place.
    fn inner<'b>(&'b mut self, step: &str, path: &'b Path<'b>) -> Scan<'b> {
        let schema = self.schema.and_then(|schema| inside(self.root, schema, step));
        Scan { root: self.root, schema, path, problems: self.problems }
    }

    fn report(&mut self, code: ProblemCode, message: impl Into<String>) {
        self.problems.push(Problem { path: self.path.to_string(), code, message: message.into() });
    }
}

impl<'de> DeserializeSeed<'de> for Scan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scan<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        if i64::try_from(number).is_err() {
            self.report(ProblemCode::OutOfRange, format!("must be at most {}, not {number}", i64::MAX));
        }
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        // Whole numbers beyond 64 bits arrive here too.
        if number.abs() >= 9e18 {
            self.report(ProblemCode::OutOfRange, format!("must be at most {}", i64::MAX));
        } else {
            self.report(ProblemCode::WrongType, format!("must be a whole number, not {number:?}"));
        }
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        if self.schema.is_some_and(|schema| schema["type"] == "object") {
            self.report(ProblemCode::WrongType, "must be an object, not a list");
        }
        let mut index = 0;
        loop {
            let path = self.path.item(index);
            if items.next_element_seed(self.inner("", &path))?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            let path = self.path.field(&key);
            let mut inner = self.inner(&key, &path);
            if seen.contains(&key) {
                inner.report(ProblemCode::DuplicateName, "stands twice in one object");
                fields.next_value::<IgnoredAny>()?;
            } else {
                fields.next_value_seed(inner)?;
                seen.insert(key);
            }
        }
        Ok(())
    }
}
