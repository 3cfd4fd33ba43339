//! The rules of a gang that are about more than one replica, as tests on the counts of a domain.

use std::collections::BTreeMap;

use super::counts::{Counts, Space};
use super::tree::Tree;
use crate::constraint::Demand;
use crate::model::{GangId, Level, Model, NodeId, RoleId};
use crate::search::Budget;
use crate::state::Ledger;

/// Roles that something is asked about together: the gang, a group or a role.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub(super) roles: Vec<usize>,
    pub(super) required: Option<Level>,
    pub(super) preferred: Option<Level>,
    pub(super) balanced: bool,
    /// The level of its outermost slices.
    pub(super) sliced: Option<Level>,
}

/// A test on the counts of each domain of a level.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    pub(super) rung: usize,
    pub(super) test: Test,
}

/// What is tested.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Test {
    /// The replicas of some roles are a multiple of this.
    Multiple(Vec<usize>, usize),
    /// At most so many.
    AtMost(Vec<usize>, usize),
    /// None, or at least so many.
    NoneOrAtLeast(Vec<usize>, usize),
    /// Where a role is, none of the others (and no second of it, if it is among them).
    Alone(usize, Vec<usize>),
    /// Where a role is, one of the others (another one, if it is among them), unless a stranger of that kind is
    /// there: the last number tells which presence to ask.
    Together(usize, Vec<usize>, usize),
}

impl Test {
    fn passes(&self, vector: &[usize]) -> bool {
        let sum = |roles: &[usize]| roles.iter().map(|role| vector[*role]).sum::<usize>();
        match self {
            Self::Multiple(roles, size) => sum(roles).is_multiple_of(*size),
            Self::AtMost(roles, most) => sum(roles) <= *most,
            Self::NoneOrAtLeast(roles, least) => sum(roles) == 0 || sum(roles) >= *least,
            Self::Alone(role, others) => {
                vector[*role] == 0 || sum(others) == usize::from(others.contains(role))
            }
            Self::Together(role, others, _) => {
                vector[*role] == 0 || sum(others) > usize::from(others.contains(role))
            }
        }
    }

    /// The vectors that pass.
    pub(super) fn mask(&self, space: &Space, budget: &mut Budget<'_>) -> Option<Counts> {
        space.only(budget, |vector| self.passes(vector))
    }

    /// The vectors that a domain may hold in which `running` run: those that pass, and those in which nothing new is
    /// what the test is about. Of what runs only slices are judged.
    pub(super) fn mask_beside(
        &self,
        space: &Space,
        running: &[usize],
        budget: &mut Budget<'_>,
    ) -> Option<Counts> {
        space.only(budget, |vector| self.passes(vector) || self.spares(vector, running))
    }

    /// Whether nothing that the test is about is new. Slices are whole everywhere, or the gang gets nothing.
    fn spares(&self, vector: &[usize], running: &[usize]) -> bool {
        !matches!(self, Self::Multiple(..)) && self.is_about(|role| vector[role] == running[role])
    }

    /// Whether some replica that the test is about runs.
    pub(super) fn meets(&self, running: &[usize]) -> bool {
        !self.is_about(|role| running[role] == 0)
    }

    /// Whether something is true of all roles that a new replica of breaks the test.
    fn is_about(&self, holds: impl Fn(usize) -> bool) -> bool {
        match self {
            Self::Multiple(roles, _) | Self::AtMost(roles, _) | Self::NoneOrAtLeast(roles, _) => {
                roles.iter().all(|role| holds(*role))
            }
            Self::Alone(role, others) => holds(*role) && others.iter().all(|other| holds(*other)),
            Self::Together(role, ..) => holds(*role),
        }
    }
}

/// Replicas of others, by node, that a term on company is about: `presences[i]` belongs to the tests that ask for `i`.
#[derive(Debug)]
pub(super) struct Presence {
    /// By node, whether somebody of that kind holds a place there.
    pub(super) at: Vec<bool>,
}

/// All rules of a demand.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) units: Vec<Unit>,
    pub(super) tests: Vec<Rule>,
    pub(super) presences: Vec<Presence>,
    /// By role, nodes that it is kept from by replicas of others.
    pub(super) kept_from: Vec<Vec<bool>>,
    /// Terms that should hold, as rules to try.
    pub(super) wishes: Vec<Rule>,
    /// Required terms that cannot be said as tests on domains, each with its likeness: what is found may break them.
    pub(super) crossing: Vec<(usize, Test)>,
}

/// The units of a demand: the gang, its groups from outer to inner, its roles.
pub(super) fn units(model: &Model, demand: &Demand) -> Vec<Unit> {
    let facts = model.gang(demand.gang);
    let all: Vec<RoleId> = facts.roles().map(|(role, _)| role).collect();
    let mut units: Vec<Unit> = facts
        .asked(&all)
        .map(|(roles, closeness)| Unit {
            roles: roles.iter().map(|role| role.index()).collect(),
            required: closeness.required,
            preferred: closeness.preferred,
            balanced: closeness.balanced,
            sliced: closeness.slices.iter().map(|layer| layer.level).min(),
        })
        .collect();
    // What the gang requires is the demand's to say: a change may be on trial.
    if facts.closeness.is_some() {
        units[0].required = demand.required;
    } else if demand.required.is_some() {
        let roles = (0..facts.roles.len()).collect();
        units.insert(
            0,
            Unit { roles, required: demand.required, preferred: None, balanced: false, sliced: None },
        );
    }
    units
}

impl Unit {
    /// Whether its running replicas do not lie in one domain of the level that it requires, or lie outside the topology
    /// where it asks for slices.
    pub(super) fn is_split(&self, model: &Model, demand: &Demand) -> bool {
        let nodes = || self.roles.iter().flat_map(|role| &demand.running[*role]);
        let lies_apart = |level: Level| {
            let mut domains = nodes().map(|node| model.topology.domain_of(level, *node));
            let first = domains.next();
            first.is_some_and(|first| first.is_none() || domains.any(|domain| domain != first))
        };
        let lies_outside = |level: Level| {
            level != model.topology.node_level()
                && nodes().any(|node| model.topology.domain_of(level, *node).is_none())
        };
        self.required.is_some_and(lies_apart) || self.sliced.is_some_and(lies_outside)
    }
}

impl Rules {
    /// Whether what the nodes hold in the end keeps the terms that are no tests on domains.
    pub(super) fn hold_across(&self, model: &Model, held: &[Held<'_>]) -> bool {
        self.crossing.iter().all(|term| self.holds(term, model, held))
    }

    /// The same where more may still come: what more replicas could mend is not judged.
    pub(super) fn may_hold_across(&self, model: &Model, held: &[Held<'_>]) -> bool {
        let lasting = self.crossing.iter().filter(|(_, test)| matches!(test, Test::Alone(..)));
        lasting.into_iter().all(|term| self.holds(term, model, held))
    }

    fn holds(&self, (near, test): &(usize, Test), model: &Model, held: &[Held<'_>]) -> bool {
        let mut sums: BTreeMap<u32, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for one in held {
            if let Some(class) = model.likenesses[*near][one.node.index()] {
                let nothing = || vec![0; one.vector.len()];
                let (sum, running) = sums.entry(class).or_insert_with(|| (nothing(), nothing()));
                sum.iter_mut().zip(one.vector).for_each(|(sum, more)| *sum += more);
                running.iter_mut().zip(one.running).for_each(|(sum, more)| *sum += more);
            }
        }
        let has_strangers = |class: u32| match test {
            Test::Together(_, _, presence) => {
                let at = &self.presences[*presence].at;
                model.likenesses[*near].iter().zip(at).any(|(one, at)| *one == Some(class) && *at)
            }
            _ => false,
        };
        sums.iter().all(|(class, (sum, running))| {
            has_strangers(*class) || test.passes(sum) || test.spares(sum, running)
        })
    }

    pub(super) fn of(
        ledger: &Ledger<'_>,
        demand: &Demand,
        whole: &Demand,
        tree: &Tree,
        nodes: &[NodeId],
        places: &[(GangId, RoleId, NodeId)],
    ) -> Self {
        let model = ledger.model();
        let facts = model.gang(demand.gang);
        let mut rules = Self {
            units: units(model, demand),
            kept_from: vec![vec![false; model.nodes.len()]; facts.roles.len()],
            ..Self::default()
        };
        let all: Vec<RoleId> = facts.roles().map(|(role, _)| role).collect();
        for (roles, closeness) in facts.asked(&all) {
            let roles: Vec<usize> = roles.iter().map(|role| role.index()).collect();
            let mut add = |level: Level, test: Test| {
                if let Some(rung) = tree.of_level(level) {
                    rules.tests.push(Rule { rung, test });
                }
            };
            for layer in &closeness.slices {
                add(layer.level, Test::Multiple(roles.clone(), number(layer.count)));
            }
            for layer in &closeness.spread {
                add(layer.level, Test::AtMost(roles.clone(), number(layer.count)));
            }
        }
        rules.close_split_units(model, demand);
        rules.companies(ledger, whole, tree, nodes, places);
        rules.shun(model, demand, places);
        rules
    }

    /// A gang gets nothing while what runs of one of its units is split.
    fn close_split_units(&mut self, model: &Model, demand: &Demand) {
        if self.units.iter().any(|unit| unit.is_split(model, demand)) {
            self.kept_from.iter_mut().for_each(|nodes| nodes.fill(true));
            self.units.iter_mut().for_each(|unit| unit.required = None);
        }
    }

    /// The terms on company of the gang's own roles, of which `demand` places all.
    fn companies(
        &mut self,
        ledger: &Ledger<'_>,
        demand: &Demand,
        tree: &Tree,
        nodes: &[NodeId],
        places: &[(GangId, RoleId, NodeId)],
    ) {
        let model = ledger.model();
        for (role, facts) in model.gang(demand.gang).roles() {
            for term in &facts.company {
                let crowd = &model.crowds[term.whom];
                let likeness = &model.likenesses[term.near];
                let others: Vec<usize> = model
                    .gang(demand.gang)
                    .roles()
                    .map(|(other, _)| other)
                    .filter(|other| crowd.has(demand.gang, *other))
                    .map(RoleId::index)
                    .collect();
                let mut at = vec![false; model.nodes.len()];
                for (gang, of, node) in places.iter().filter(|(gang, ..)| *gang != demand.gang) {
                    at[node.index()] |= crowd.has(*gang, *of);
                }
                for (pod, belongs) in model.pods.iter().zip(&crowd.pods).filter(|_| !ledger.is_vacant()) {
                    at[pod.node.index()] |= belongs;
                }
                let near = spread_over(likeness, &at);
                if term.required {
                    for (node, kept) in self.kept_from[role.index()].iter_mut().enumerate() {
                        *kept |= if term.anti { near[node] } else { likeness[node].is_none() };
                    }
                }
                let anyone = at.iter().any(|there| *there);
                let test = if term.anti {
                    Test::Alone(role.index(), others.clone())
                } else if !anyone && is_only_one(demand, &others, role) {
                    // The first of its kind needs no company.
                    continue;
                } else {
                    self.presences.push(Presence { at: near });
                    Test::Together(role.index(), others.clone(), self.presences.len() - 1)
                };
                if term.anti && others.is_empty() && term.required {
                    continue;
                }
                let Some(rung) = tree.of_likeness(model, nodes, term.near) else {
                    if term.required {
                        self.crossing.push((term.near, test));
                    }
                    continue;
                };
                let rule = Rule { rung, test };
                if term.required { self.tests.push(rule) } else { self.wishes.push(rule) }
            }
        }
    }

    /// Replicas of other gangs that must not have those of this one near them.
    fn shun(&mut self, model: &Model, demand: &Demand, places: &[(GangId, RoleId, NodeId)]) {
        for (gang, shy) in model.shy.iter().filter(|(gang, _)| *gang != demand.gang) {
            let held: Vec<NodeId> = places
                .iter()
                .filter(|(of, role, _)| of == gang && role == shy)
                .map(|(_, _, node)| *node)
                .collect();
            for term in model.role(*gang, *shy).company.iter().filter(|term| term.anti && term.required) {
                let mut at = vec![false; model.nodes.len()];
                for node in &held {
                    at[node.index()] = true;
                }
                let near = spread_over(&model.likenesses[term.near], &at);
                for (role, kept) in self.kept_from.iter_mut().enumerate() {
                    if model.crowds[term.whom].has(demand.gang, RoleId::new(role)) {
                        kept.iter_mut().zip(&near).for_each(|(kept, near)| *kept |= near);
                    }
                }
            }
        }
    }
}

/// What a node holds in the end, and what of it runs there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held<'a> {
    pub(super) node: NodeId,
    pub(super) vector: &'a [usize],
    pub(super) running: &'a [usize],
}

/// Whether a replica of a role is the only one of its kind in the gang.
fn is_only_one(demand: &Demand, others: &[usize], role: RoleId) -> bool {
    let replicas = |other: usize| {
        let running = demand.running[other].len();
        let most = demand.choice.as_ref().map_or(demand.counts[other], |choice| choice.most[other]);
        running + number(most)
    };
    others.contains(&role.index()) && others.iter().map(|other| replicas(*other)).sum::<usize>() == 1
}

/// What is marked, and all that is like it.
fn spread_over(likeness: &[Option<u32>], marked: &[bool]) -> Vec<bool> {
    let classes: std::collections::BTreeSet<u32> = likeness
        .iter()
        .zip(marked)
        .filter_map(|(class, marked)| if *marked { *class } else { None })
        .collect();
    likeness.iter().map(|class| class.is_some_and(|class| classes.contains(&class))).collect()
}

/// A count that is known not to be negative.
pub(super) fn number(count: i64) -> usize {
    usize::try_from(count.max(0)).unwrap_or(usize::MAX)
}

/// The role with the most replicas, running ones included.
pub(super) fn largest_role(demand: &Demand) -> usize {
    let most = |role: usize| {
        let new = demand.choice.as_ref().map_or(demand.counts[role], |choice| choice.most[role]);
        (new, demand.running[role].len())
    };
    (0..demand.counts.len()).max_by_key(|role| (most(*role), std::cmp::Reverse(*role))).unwrap_or(0)
}
