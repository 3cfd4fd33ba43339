//! Topology labels as ranks: the order of the nodes, and the tree over them.

use crate::model::Topology;
use crate::model::topology::Domain;
use crate::session::{Columns, NONE};

/// The topology labels of every node, as ranks of their values.
pub(super) struct Levels {
    /// By level, then node row; [`NONE`] without the label.
    ranks: Vec<Vec<u32>>,
    /// By level, values in order.
    values: Vec<Vec<String>>,
}

impl Levels {
    pub(super) fn of(columns: &Columns) -> Self {
        let mut levels = Self { ranks: Vec::new(), values: Vec::new() };
        for key in &columns.topology {
            let column = columns.nodes.labels.iter().find(|column| column.key == *key);
            let column = column.expect("sound columns have a label column for every level");
            let mut values = column.values.clone();
            values.sort();
            values.dedup();
            let rank = |value: &String| -> u32 {
                let rank = values.binary_search(value).expect("every value was listed");
                u32::try_from(rank).expect("fewer values than rows")
            };
            let of_code: Vec<u32> = column.values.iter().map(rank).collect();
            let codes = column.codes.iter();
            levels
                .ranks
                .push(codes.map(|code| of_code.get(*code as usize).copied().unwrap_or(NONE)).collect());
            levels.values.push(values);
        }
        levels
    }

    fn is_inside(&self, row: u32) -> bool {
        self.ranks.iter().all(|ranks| ranks[row as usize] != NONE)
    }

    /// Rows along the topology tree, then by name; those outside the topology at the end.
    pub(super) fn canonical(&self, names: &[String]) -> Vec<u32> {
        let rows = u32::try_from(names.len()).expect("positions have 32 bits");
        let (mut inside, mut outside): (Vec<u32>, Vec<u32>) = (0..rows).partition(|row| self.is_inside(*row));
        // Stable, and names are looked at only where the places are the same: rows in order cost one pass.
        inside.sort_by(|a, b| {
            let (a, b) = (*a as usize, *b as usize);
            let by_place = self.ranks.iter().map(|ranks| ranks[a].cmp(&ranks[b])).find(|order| order.is_ne());
            by_place.unwrap_or_else(|| names[a].cmp(&names[b]))
        });
        outside.sort_by(|a, b| names[*a as usize].cmp(&names[*b as usize]));
        inside.extend(outside);
        inside
    }

    pub(super) fn topology(&self, columns: &Columns, order: &[u32]) -> Topology {
        let inside = order.partition_point(|row| self.is_inside(*row));
        let mut levels = Vec::new();
        let mut homes = Vec::new();
        for depth in 0..self.ranks.len() {
            let mut level: Vec<Domain> = Vec::new();
            let mut home = Vec::with_capacity(inside);
            for (index, row) in order[..inside].iter().enumerate() {
                let row = *row as usize;
                let same = index > 0 && {
                    let before = order[index - 1] as usize;
                    self.ranks[..=depth].iter().all(|ranks| ranks[before] == ranks[row])
                };
                if !same {
                    let values: Vec<&str> = (0..=depth)
                        .map(|level| self.values[level][self.ranks[level][row] as usize].as_str())
                        .collect();
                    level.push(Domain { name: values.join("/"), nodes: index..index });
                }
                let last = level.len() - 1;
                level[last].nodes.end = index + 1;
                home.push(u32::try_from(last).expect("fewer domains than nodes"));
            }
            levels.push((columns.topology[depth].clone(), level));
            homes.push(home);
        }
        Topology::new(
            levels,
            homes,
            order.iter().map(|row| columns.nodes.names[*row as usize].clone()),
            inside,
        )
    }
}
