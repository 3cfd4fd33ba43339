//! JSON paths, such as `$.gangs[3].roles[0].replicas`, built on the stack and written only when needed.

use std::fmt;

/// A place in a document.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The document itself.
    Root,
    /// A field of an object.
    Field(&'a Path<'a>, &'a str),
    /// An item of an array.
    Item(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    /// The field `name` of this place.
    pub(crate) fn field(&'a self, name: &'a str) -> Path<'a> {
        Path::Field(self, name)
    }

    /// The item `index` of this place.
    pub(crate) fn item(&'a self, index: usize) -> Path<'a> {
        Path::Item(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => f.write_str("$"),
            Path::Item(parent, index) => write!(f, "{parent}[{index}]"),
            Path::Field(parent, name) if is_plain(name) => write!(f, "{parent}.{name}"),
            Path::Field(parent, name) => write!(f, "{parent}[{name:?}]"),
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}
