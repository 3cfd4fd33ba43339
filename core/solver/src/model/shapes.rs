//! Shapes: what a replica is to a node: its request, its node class, whether it is tied to the topology. Roles of
//! many gangs share one.

use rustc_hash::FxHashMap;

use super::{ClassId, ResourceVec, ShapeId};

/// A request of a node class.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) request: ResourceVec,
    pub(crate) class: ClassId,
    /// Nodes outside the topology are not for it.
    pub(crate) inside_topology: bool,
}

/// Shapes seen so far, each once.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub(super) list: Vec<Shape>,
    known: FxHashMap<Shape, ShapeId>,
}

impl Shapes {
    pub(super) fn intern(&mut self, request: &ResourceVec, class: ClassId, inside_topology: bool) -> ShapeId {
        let shape = Shape { request: request.clone(), class, inside_topology };
        if let Some(id) = self.known.get(&shape) {
            return *id;
        }
        let id = ShapeId::new(self.list.len());
        self.list.push(shape.clone());
        self.known.insert(shape, id);
        id
    }
}
