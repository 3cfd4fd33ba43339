//! A quick look for what serde forgives: keys that stand twice in one object, and lists in the place of objects.
//!
//! Documents of many megabytes are sound as a rule. Only where this finds something does [`super::scan`] look again,
//! slowly, and say what and where.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::schema::resolve;

/// What may stand in a place: the parts of a schema that the look needs.
#[derive(Debug)]
enum Form {
    Fields(Vec<(String, usize)>),
    Entries(usize),
    Items(usize),
    Plain,
}

/// The forms of a schema; the first is that of the whole.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    list: Vec<Form>,
}

impl Forms {
    pub(crate) fn of(schema: &Value) -> Self {
        let mut forms = Self::default();
        forms.add(schema, schema);
        forms
    }

    fn add(&mut self, root: &Value, schema: &Value) -> usize {
        let schema = resolve(root, schema);
        let index = self.list.len();
        self.list.push(Form::Plain);
        let entries = schema.get("additionalProperties").filter(|more| more.is_object());
        let form = if let Some(Value::Object(fields)) = schema.get("properties") {
            Form::Fields(fields.iter().map(|(name, field)| (name.clone(), self.add(root, field))).collect())
        } else if let Some(entries) = entries {
            Form::Entries(self.add(root, entries))
        } else if let Some(items) = schema.get("items") {
            Form::Items(self.add(root, items))
        } else {
            Form::Plain
        };
        self.list[index] = form;
        index
    }

    /// Whether the text has nothing that serde would forgive.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub(crate) fn are_strict(&self, bytes: &[u8]) -> Result<bool, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let strict = Look { forms: self, at: 0 }.deserialize(&mut reader)?;
        reader.end()?;
        Ok(strict)
    }
}

#[derive(Clone, Copy)]
struct Look<'a> {
    forms: &'a Forms,
    at: usize,
}

impl Look<'_> {
    fn inner(self, at: usize) -> Self {
        Self { at, ..self }
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        if matches!(self.forms.list[self.at], Form::Plain) {
            return IgnoredAny::deserialize(deserializer).map(|_| true);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    // A wrong type is serde's business.
    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        let Form::Items(inner) = self.forms.list[self.at] else {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(false);
        };
        let mut strict = true;
        while let Some(item) = items.next_element_seed(self.inner(inner))? {
            strict &= item;
        }
        Ok(strict)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<bool, A::Error> {
        let mut strict = true;
        let mut keys = Keys::default();
        while let Some(Key(key)) = fields.next_key::<Key<'de>>()? {
            let inner = match &self.forms.list[self.at] {
                // serde itself finds fields that stand twice, and those that are unknown.
                Form::Fields(known) => known.iter().find(|(name, _)| *name == key).map(|(_, inner)| *inner),
                Form::Entries(inner) => {
                    keys.add(key);
                    Some(*inner)
                }
                Form::Items(_) | Form::Plain => None,
            };
            match inner {
                Some(inner) => strict &= fields.next_value_seed(self.inner(inner))?,
                None => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(strict && keys.are_different())
    }
}

/// Bits of the filter; with 20 keys one object in twenty is sorted for nothing.
const BITS: usize = 4096;

/// The keys of one object, and a filter that tells most sets of different keys at once.
struct Keys<'de> {
    seen: [u64; BITS / 64],
    maybe_twice: bool,
    all: Vec<Cow<'de, str>>,
}

impl Default for Keys<'_> {
    fn default() -> Self {
        Self { seen: [0; BITS / 64], maybe_twice: false, all: Vec::new() }
    }
}

impl<'de> Keys<'de> {
    fn add(&mut self, key: Cow<'de, str>) {
        // FNV-1a (Fowler, Noll, Vo).
        let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let bit = usize::try_from(hash >> 52).unwrap_or(0) % BITS;
        self.maybe_twice |= self.seen[bit / 64] & 1 << (bit % 64) != 0;
        self.seen[bit / 64] |= 1 << (bit % 64);
        self.all.push(key);
    }

    fn are_different(mut self) -> bool {
        if !self.maybe_twice {
            return true;
        }
        self.all.sort_unstable();
        self.all.windows(2).all(|pair| pair[0] != pair[1])
    }
}

/// A key, borrowed from the text where it stands there as it is.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowing)
    }
}
