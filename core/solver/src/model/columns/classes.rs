//! Which nodes the roles may use, from label columns: each kind of node is judged once.

use rustc_hash::FxHashMap;

use crate::document::{Node, Role, Rule};
use crate::model::{ClassId, matching};
use crate::session::{Columns, LabelColumn, NONE, NodeNeeds};

/// The first rule that keeps the node of a row away from roles with the needs of a row.
pub(crate) fn verdict(columns: &Columns, needs: u32, node: u32) -> Option<Rule> {
    Classes::new(columns, &[node]).judge(needs).first().copied().flatten()
}

/// Node classes, each judged once, and there each kind of node once.
pub(super) struct Classes<'a> {
    columns: &'a Columns,
    order: &'a [u32],
    known: FxHashMap<u32, ClassId>,
    pub(super) verdicts: Vec<Vec<Option<Rule>>>,
    /// By class, the row of its needs.
    pub(super) needs: Vec<u32>,
}

impl<'a> Classes<'a> {
    pub(super) fn new(columns: &'a Columns, order: &'a [u32]) -> Self {
        Self { columns, order, known: FxHashMap::default(), verdicts: Vec::new(), needs: Vec::new() }
    }

    pub(super) fn of(&mut self, needs: u32) -> ClassId {
        let fresh = ClassId::new(self.verdicts.len());
        let class = *self.known.entry(needs).or_insert(fresh);
        if class == fresh {
            self.verdicts.push(self.judge(needs));
            self.needs.push(needs);
        }
        class
    }

    fn judge(&self, needs: u32) -> Vec<Option<Rule>> {
        let nodes = &self.columns.nodes;
        let none = NodeNeeds::default();
        let needs = self.columns.needs.get(needs as usize).unwrap_or(&none);
        let role = Role {
            node_selector: needs.node_selector.clone(),
            node_affinity: needs.node_affinity.clone(),
            tolerations: needs.tolerations.clone(),
            ..Role::default()
        };
        let expressions = needs.node_affinity.iter().flat_map(|term| &term.expressions);
        let mentioned = |key: &String| {
            needs.node_selector.contains_key(key)
                || expressions.clone().any(|expression| expression.key == *key)
        };
        let labels: Vec<&LabelColumn> = nodes.labels.iter().filter(|column| mentioned(&column.key)).collect();
        let mut known: FxHashMap<Vec<u32>, Option<Rule>> = FxHashMap::default();
        let mut kind = Vec::new();
        let mut before: Option<(Vec<u32>, Option<Rule>)> = None;
        let verdict = |row: &u32| {
            let row = *row as usize;
            let flag = |column: &[bool], otherwise| column.get(row).copied().unwrap_or(otherwise);
            kind.clear();
            kind.push(u32::from(flag(&nodes.ready, true)));
            kind.push(u32::from(flag(&nodes.unschedulable, false)));
            kind.push(nodes.taints.get(row).copied().unwrap_or(NONE));
            kind.extend(labels.iter().map(|column| column.codes[row]));
            if let Some((_, rule)) = before.as_ref().filter(|(before, _)| *before == kind) {
                return *rule;
            }
            let rule = *known.entry(kind.clone()).or_insert_with(|| {
                let value = |column: &&LabelColumn| {
                    Some((column.key.clone(), column.values.get(column.codes[row] as usize)?.clone()))
                };
                let taints = nodes.taints.get(row).and_then(|set| nodes.taint_sets.get(*set as usize));
                let node = Node {
                    labels: labels.iter().filter_map(value).collect(),
                    taints: taints.cloned().unwrap_or_default(),
                    ready: flag(&nodes.ready, true),
                    unschedulable: flag(&nodes.unschedulable, false),
                    ..Node::default()
                };
                matching::exclusion(&role, &node)
            });
            before = Some((kind.clone(), rule));
            rule
        };
        self.order.iter().map(verdict).collect()
    }
}
