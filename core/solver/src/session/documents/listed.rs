//! A list of a snapshot while deltas are tried: what they say stands first, what it replaces is kept until they hold.

use std::collections::{BTreeMap, BTreeSet};

/// What was done to a list.
pub(super) struct Tried<T> {
    /// So many items, at its beginning, are from the deltas.
    pub(super) put: usize,
    /// What is no longer in it.
    pub(super) out: Vec<T>,
    /// Whether the list says anything else than before.
    pub(super) is_other: bool,
}

impl<T> Tried<T> {
    /// Puts the list back.
    pub(super) fn undo(self, list: &mut Vec<T>) {
        list.drain(..self.put);
        list.extend(self.out);
    }
}

/// Puts `new` items into a list, in the place of those with the same name; takes out what is `gone`.
pub(super) fn put<T: Clone + PartialEq>(
    list: &mut Vec<T>,
    new: &[T],
    name: impl Fn(&T) -> &str,
    gone: impl Fn(&T) -> bool,
) -> Tried<T> {
    let names: BTreeMap<&str, &T> = new.iter().map(|item| (name(item), item)).collect();
    let mut is_other = false;
    let mut known = BTreeSet::new();
    let leaves = |item: &T| {
        let same = names.get(name(item));
        if let Some(same) = same {
            known.insert(name(same));
        }
        let is_gone = gone(item);
        is_other |= is_gone || same.is_some_and(|same| *same != item);
        is_gone || same.is_some()
    };
    let marks: Vec<bool> = list.iter().map(leaves).collect();
    is_other |= known.len() < names.len() || names.len() < new.len();
    if !is_other {
        return Tried { put: 0, out: Vec::new(), is_other };
    }
    let mut kept = new.to_vec();
    let mut out = Vec::new();
    for (item, leaves) in std::mem::take(list).into_iter().zip(marks) {
        if leaves { out.push(item) } else { kept.push(item) }
    }
    *list = kept;
    Tried { put: new.len(), out, is_other }
}
