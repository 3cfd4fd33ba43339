//! What each node can host: the Pareto points over the counts of the roles, shared by nodes that are alike.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::model::{NodeId, RoleId};
use crate::search::{Budget, Field, greedy};
use crate::state::Ledger;

/// A Pareto point: so many of the other roles, and the most of the largest beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) others: Vec<usize>,
    pub(super) largest: i32,
}

impl Choice {
    /// What is still wanted of the other roles after this choice.
    pub(super) fn rest(&self, wanted: &[usize]) -> Vec<usize> {
        wanted.iter().zip(&self.others).map(|(wanted, offered)| wanted.saturating_sub(*offered)).collect()
    }
}

/// A node to fold in.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) node: NodeId,
    pub(super) class: usize,
}

/// A gang and a domain as counts.
#[derive(Debug)]
pub(super) struct Problem {
    /// By rising count; the last is the largest.
    pub(super) roles: Vec<RoleId>,
    /// Counts of all roles but the largest.
    pub(super) others: Vec<usize>,
    pub(super) largest: i32,
    /// States of the table: every count of the others up to what is asked for.
    pub(super) states: usize,
    /// Choices by class of like nodes.
    pub(super) classes: Vec<Vec<Choice>>,
    /// Nodes, those that host most first.
    pub(super) steps: Vec<Step>,
}

impl Problem {
    /// Lists the choices of all nodes; none if the budget does not reach.
    pub(super) fn list(
        ledger: &Ledger<'_>,
        field: &Field<'_>,
        slots: &Range<usize>,
        budget: &mut Budget<'_>,
    ) -> Option<Self> {
        let roles = greedy::roles_by_count(field);
        let (last, others) = roles.split_last()?;
        let count = |role: &RoleId| usize::try_from(field.demand.count(*role)).ok();
        let mut problem = Self {
            others: others.iter().map(count).collect::<Option<_>>()?,
            largest: i32::try_from(field.demand.count(*last)).ok()?,
            states: 1,
            classes: Vec::new(),
            steps: Vec::new(),
            roles,
        };
        for other in &problem.others {
            problem.states = problem.states.checked_mul(other + 1)?;
        }
        let mut known: BTreeMap<(Vec<i64>, Vec<i64>), usize> = BTreeMap::new();
        for slot in slots.clone() {
            let node = field.node(slot);
            let caps: Vec<i64> = problem.roles.iter().map(|role| field.cap(slot, *role)).collect();
            let key = (ledger.free(node).to_vec(), caps);
            let class = if let Some(class) = known.get(&key) {
                *class
            } else {
                let choices = problem.choices(ledger, field, &key.0, &key.1, budget)?;
                problem.classes.push(choices);
                known.insert(key, problem.classes.len() - 1);
                problem.classes.len() - 1
            };
            problem.steps.push(Step { node, class });
        }
        let sizes: Vec<i64> = problem.classes.iter().map(|choices| size(choices)).collect();
        problem.steps.sort_by_key(|step| (std::cmp::Reverse(sizes[step.class]), step.class, step.node));
        Some(problem)
    }

    /// The Pareto points of a node with this free room; none if the budget does not reach.
    fn choices(
        &self,
        ledger: &Ledger<'_>,
        field: &Field<'_>,
        free: &[i64],
        caps: &[i64],
        budget: &mut Budget<'_>,
    ) -> Option<Vec<Choice>> {
        let (last_cap, caps) = caps.split_last()?;
        let dims: Vec<usize> =
            caps.iter().map(|cap| usize::try_from(*cap).ok()?.checked_add(1)).collect::<Option<_>>()?;
        let points = dims.iter().try_fold(1_usize, |product, dim| product.checked_mul(*dim))?;
        let cost = i64::try_from(points).ok()?;
        if cost > budget.left() || !budget.spend(cost) {
            return None;
        }
        let requests: Vec<&[i64]> = self
            .roles
            .iter()
            .map(|role| ledger.model().role(field.demand.gang, *role).request.as_slice())
            .collect();
        let last = &ledger.model().role(field.demand.gang, *self.roles.last()?).request;
        // Most of the largest role beside each count of the others; -1 where those alone do not fit.
        let mut most = Vec::with_capacity(points);
        let mut at = vec![0_usize; dims.len()];
        for _ in 0..points {
            let mut rest = free.to_vec();
            for (request, count) in requests.iter().zip(&at) {
                let count = i64::try_from(*count).ok()?;
                rest.iter_mut()
                    .zip(*request)
                    .for_each(|(rest, amount)| *rest = rest.saturating_sub(amount.saturating_mul(count)));
            }
            let fits = rest.iter().all(|amount| *amount >= 0);
            let beside = if *last_cap == 0 { 0 } else { last.most_in(&rest).min(i64::from(self.largest)) };
            most.push(if fits { i32::try_from(beside).ok()? } else { -1 });
            advance(&mut at, &dims);
        }
        let mut choices = Vec::new();
        at.fill(0);
        for index in 0..points {
            let mut stride = 1;
            let mut dominated = most[index] < 0;
            for (count, dim) in at.iter().zip(&dims).rev() {
                dominated |= count + 1 < *dim && most[index + stride] == most[index];
                stride *= dim;
            }
            if !dominated {
                choices.push(Choice { others: at.clone(), largest: most[index] });
            }
            advance(&mut at, &dims);
        }
        Some(choices)
    }
}

/// The next point, the last coordinate fastest.
pub(super) fn advance(at: &mut [usize], dims: &[usize]) {
    for (count, dim) in at.iter_mut().zip(dims).rev() {
        *count += 1;
        if *count < *dim {
            return;
        }
        *count = 0;
    }
}

/// The most replicas of all roles that one choice hosts.
fn size(choices: &[Choice]) -> i64 {
    let hosted = |choice: &Choice| {
        choice.others.iter().map(|count| i64::try_from(*count).unwrap_or(i64::MAX)).sum::<i64>()
            + i64::from(choice.largest)
    };
    choices.iter().map(hosted).max().unwrap_or(0)
}
