//! Dense ids: positions in the lists of the [`Model`](super::Model).

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(u32);

        #[allow(dead_code, reason = "not every kind of id is written into an array")]
        impl $name {
            pub(crate) fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("a document holds fewer than 2^32 things of a kind"))
            }

            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }

            pub(crate) fn as_u32(self) -> u32 {
                self.0
            }
        }
    };
}

id!(
    /// A node, in canonical order: along the topology tree, then by name.
    NodeId
);
id!(
    /// A resource, by name.
    ResourceId
);
id!(
    /// A queue, by name.
    QueueId
);
id!(
    /// A gang, by name.
    GangId
);
id!(
    /// A role of one gang, by name.
    RoleId
);
id!(
    /// A node class: roles with the same selectors, affinity and tolerations.
    ClassId
);
id!(
    /// A shape: a request of a node class.
    ShapeId
);
