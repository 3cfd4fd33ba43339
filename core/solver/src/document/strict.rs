//! Reading without what serde forgives: keys that stand twice in one map, and lists in the place of objects.
//!
//! Wraps the deserializer of the format, so that documents of many megabytes are read in one pass.

use std::cell::Cell;
use std::fmt;
use std::hash::Hasher;

use rustc_hash::FxHasher;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, Visitor,
};

/// A document, and whether two keys of one map look alike: [`super::scan`] tells whether they are.
///
/// # Errors
/// When the text is not JSON, or not of this form.
pub(crate) fn from_slice<T: de::DeserializeOwned>(bytes: &[u8]) -> Result<(T, bool), serde_json::Error> {
    let maybe_twice = Cell::new(false);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let document = T::deserialize(Strict { inner: &mut reader, maybe_twice: &maybe_twice })?;
    reader.end()?;
    Ok((document, maybe_twice.get()))
}

/// What stands in a place.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// An object of known fields: serde itself finds those that stand twice.
    Fields,
    /// An object of any keys.
    Entries,
    Other,
}

/// A deserializer or a seed, and what is inside it, read strictly.
struct Strict<'a, I> {
    inner: I,
    maybe_twice: &'a Cell<bool>,
}

macro_rules! forward {
    ($wrap:ident: $($method:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($argument,)* $wrap!(self, visitor))
        })*
    };
}

/// All ways to ask for a value but for objects, with the visitor wrapped by `$wrap`.
macro_rules! forward_plain {
    ($wrap:ident) => {
        forward! { $wrap:
            deserialize_any(); deserialize_bool(); deserialize_i8(); deserialize_i16(); deserialize_i32();
            deserialize_i64(); deserialize_i128(); deserialize_u8(); deserialize_u16(); deserialize_u32();
            deserialize_u64(); deserialize_u128(); deserialize_f32(); deserialize_f64(); deserialize_char();
            deserialize_str(); deserialize_string(); deserialize_bytes(); deserialize_byte_buf();
            deserialize_option(); deserialize_unit(); deserialize_unit_struct(name: &'static str);
            deserialize_newtype_struct(name: &'static str); deserialize_seq(); deserialize_tuple(len: usize);
            deserialize_tuple_struct(name: &'static str, len: usize);
            deserialize_enum(name: &'static str, variants: &'static [&'static str]);
            deserialize_identifier(); deserialize_ignored_any();
        }
    };
}

macro_rules! other {
    ($self:ident, $visitor:ident) => {
        Watching { inner: $visitor, kind: Kind::Other, maybe_twice: $self.maybe_twice }
    };
}

macro_rules! fields {
    ($self:ident, $visitor:ident) => {
        Watching { inner: $visitor, kind: Kind::Fields, maybe_twice: $self.maybe_twice }
    };
}

macro_rules! entries {
    ($self:ident, $visitor:ident) => {
        Watching { inner: $visitor, kind: Kind::Entries, maybe_twice: $self.maybe_twice }
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<'_, D> {
    type Error = D::Error;

    forward_plain!(other);
    forward! { fields: deserialize_struct(name: &'static str, fields: &'static [&'static str]); }
    forward! { entries: deserialize_map(); }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Strict { inner: deserializer, maybe_twice: self.maybe_twice })
    }
}

/// A visitor that reads strictly what is inside.
struct Watching<'a, V> {
    inner: V,
    kind: Kind,
    maybe_twice: &'a Cell<bool>,
}

macro_rules! visit_plain {
    ($($method:ident($type:ty);)*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<Self::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Watching<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit_plain! {
        visit_bool(bool); visit_i64(i64); visit_i128(i128); visit_u64(u64); visit_u128(u128); visit_f64(f64);
        visit_str(&str); visit_borrowed_str(&'de str); visit_string(String);
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Strict { inner, maybe_twice: self.maybe_twice })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Strict { inner, maybe_twice: self.maybe_twice })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        if self.kind == Kind::Fields {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        self.inner.visit_seq(Strict { inner, maybe_twice: self.maybe_twice })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let mut keys = (self.kind == Kind::Entries).then(Vec::new);
        let read =
            self.inner.visit_map(Entries { inner, keys: keys.as_mut(), maybe_twice: self.maybe_twice })?;
        if let Some(mut keys) = keys {
            keys.sort_unstable();
            if keys.windows(2).any(|pair| pair[0] == pair[1]) {
                self.maybe_twice.set(true);
            }
        }
        Ok(read)
    }

    // The variants of documents hold nothing.
    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(inner)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, inner: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_element_seed(Strict { inner, maybe_twice: self.maybe_twice })
    }
}

/// The entries of one object.
struct Entries<'a, A> {
    inner: A,
    /// Hashes of the keys of a map.
    keys: Option<&'a mut Vec<u64>>,
    maybe_twice: &'a Cell<bool>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        match &mut self.keys {
            Some(keys) => self.inner.next_key_seed(Hashing { inner: seed, keys }),
            None => self.inner.next_key_seed(seed),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, inner: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Strict { inner, maybe_twice: self.maybe_twice })
    }
}

/// A seed, deserializer or visitor of a key, of which it notes the hash.
struct Hashing<'a, I> {
    inner: I,
    keys: &'a mut Vec<u64>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Hashing<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Hashing { inner: deserializer, keys: self.keys })
    }
}

macro_rules! hashed {
    ($self:ident, $visitor:ident) => {
        Hashing { inner: $visitor, keys: $self.keys }
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Hashing<'_, D> {
    type Error = D::Error;

    forward_plain!(hashed);
    forward! { hashed:
        deserialize_struct(name: &'static str, fields: &'static [&'static str]); deserialize_map();
    }
}

impl<V> Hashing<'_, V> {
    fn note(&mut self, key: &str) {
        let mut hash = FxHasher::default();
        hash.write(key.as_bytes());
        self.keys.push(hash.finish());
    }
}

// The keys of JSON are texts.
impl<'de, V: Visitor<'de>> Visitor<'de> for Hashing<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_str<E: Error>(mut self, key: &str) -> Result<V::Value, E> {
        self.note(key);
        self.inner.visit_str(key)
    }

    fn visit_borrowed_str<E: Error>(mut self, key: &'de str) -> Result<V::Value, E> {
        self.note(key);
        self.inner.visit_borrowed_str(key)
    }

    fn visit_string<E: Error>(mut self, key: String) -> Result<V::Value, E> {
        self.note(&key);
        self.inner.visit_string(key)
    }
}
