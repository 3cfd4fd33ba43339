//! All or nothing: what of a gang must be placed together, and what it may grow by.

use crate::model::{GangFacts, GangId, Level, Model, NodeId, ResourceId, RoleId};

/// The replicas that are placed together or not at all, and what they ask for.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub(crate) gang: GangId,
    /// Replicas to place, by role; at least one in all.
    pub(crate) counts: Vec<i64>,
    /// Where replicas of the gang run already, by role.
    pub(crate) running: Vec<Vec<NodeId>>,
    /// All replicas, running ones too, must lie in one domain of this level.
    pub(crate) required: Option<Level>,
    /// Other counts will do as well; none: exactly `counts`.
    pub(crate) choice: Option<Choice>,
}

/// A choice of counts: any between these that is legal for the gang, the fewest replicas first.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) least: Vec<i64>,
    pub(crate) most: Vec<i64>,
}

impl Demand {
    /// All of a gang that does not run yet.
    pub(crate) fn of(model: &Model, gang: GangId) -> Self {
        let facts = model.gang(gang);
        Self {
            gang,
            counts: facts.roles.iter().map(crate::model::RoleFacts::to_start).collect(),
            running: facts
                .roles
                .iter()
                .map(|role| role.running.iter().map(|replica| replica.node).collect())
                .collect(),
            required: facts.required,
            choice: None,
        }
    }

    /// Whether a gang can have its minimum at all while replicas of it are leaving.
    pub(crate) fn reaches_minimum(&self, model: &Model) -> bool {
        let facts = model.gang(self.gang);
        if facts.roles.iter().all(|role| role.leaving.is_empty()) {
            return true;
        }
        if let Some(choice) = &self.choice {
            let most: Vec<i64> =
                self.have().iter().zip(&choice.most).map(|(have, most)| have + most).collect();
            return facts.roles.iter().zip(&most).all(|(role, most)| *most >= role.min)
                && facts.min_member.is_none_or(|min| most.iter().sum::<i64>() >= min);
        }
        let totals: Vec<i64> =
            self.have().iter().zip(&self.counts).map(|(have, count)| have + count).collect();
        is_legal(facts, &totals)
    }

    /// All of a gang, as if none of it ran.
    pub(crate) fn afresh(model: &Model, gang: GangId) -> Self {
        let roles = &model.gang(gang).roles;
        let nowhere = Self { running: vec![Vec::new(); roles.len()], ..Self::of(model, gang) };
        let replicas = roles.iter().map(|role| role.replicas).collect();
        nowhere.least_with(model, replicas)
    }

    /// What a gang needs to have its minimum; none if it has that already.
    pub(crate) fn minimum(model: &Model, gang: GangId) -> Option<Self> {
        let all = Self::of(model, gang);
        if !model.gang(gang).is_elastic() {
            return model.gang(gang).waits().then_some(all);
        }
        let most = all.counts.clone();
        let demand = all.least_with(model, most);
        demand.counts.iter().any(|count| *count > 0).then_some(demand)
    }

    /// The fewest of at most `most` further replicas that make the gang legal.
    fn least_with(self, model: &Model, most: Vec<i64>) -> Self {
        let facts = model.gang(self.gang);
        let have = self.have();
        let floor = floor(facts, &have, &most);
        let totals = fewest(facts, &have, &most, None);
        let counts: Vec<i64> = totals.iter().zip(&have).map(|(total, have)| total - have).collect();
        // More than one role can grow beyond its own minimum, or the fewest may be too few.
        let slack = (0..most.len()).filter(|role| have[*role] + most[*role] > floor[*role]).count();
        let is_open = totals != floor && slack > 1;
        let choice = (slack > 0 && (is_open || asks_for_more(facts))).then(|| Choice {
            least: floor.iter().zip(&have).map(|(floor, have)| floor - have).collect(),
            most,
        });
        Self { counts, choice, ..self }
    }

    /// Of a choice of counts, the fewest that are legal where as many as can be are of the role `first`; none if the
    /// fewest are not enough.
    pub(crate) fn fewest_with_most_of(&self, model: &Model, first: RoleId) -> Option<Self> {
        let (facts, choice, have) = (model.gang(self.gang), self.choice.as_ref()?, self.have());
        let totals = fewest(facts, &have, &choice.most, Some(first.index()));
        let counts: Vec<i64> = totals.iter().zip(&have).map(|(total, have)| total - have).collect();
        let is_enough =
            is_legal(facts, &totals) && counts.iter().zip(&choice.least).all(|(new, least)| new >= least);
        is_enough.then(|| Self { counts, choice: None, ..self.clone() })
    }

    /// The ways in which a gang that has its minimum may grow by one step, roles of higher priority first, then by
    /// name; `placed` are replicas that hold a place since the model was built.
    pub(crate) fn growths(model: &Model, gang: GangId, placed: &[(RoleId, NodeId)]) -> Vec<Self> {
        let facts = model.gang(gang);
        let mut now = Self::of(model, gang);
        for (role, node) in placed {
            now.running[role.index()].push(*node);
            now.counts[role.index()] -= 1;
        }
        let mut order: Vec<RoleId> = now.roles().collect();
        order.sort_by_key(|role| (std::cmp::Reverse(facts.roles[role.index()].priority), *role));
        order.into_iter().map(|role| now.step(model, role)).collect()
    }

    /// The smallest growth that has one more of a role.
    fn step(&self, model: &Model, role: RoleId) -> Self {
        let facts = model.gang(self.gang);
        let mut most = vec![0; self.counts.len()];
        most[role.index()] = 1;
        let have = self.have();
        let mut raise = |roles: &[RoleId], by: i64| {
            for other in roles {
                most[other.index()] = most[other.index()].max(by);
            }
        };
        let all: Vec<RoleId> = (0..self.counts.len()).map(RoleId::new).collect();
        for (roles, closeness) in facts.asked(&all).filter(|(roles, _)| roles.contains(&role)) {
            for layer in &closeness.slices {
                raise(roles, layer.count);
            }
        }
        for group in facts.groups.iter().filter(|group| group.roles.contains(&role)) {
            let held: i64 = group.roles.iter().map(|role| have[role.index()]).sum();
            if held < group.min {
                raise(&group.roles, group.min - held);
            }
        }
        for term in facts.roles[role.index()].company.iter().filter(|term| term.required && !term.anti) {
            let crowd = &model.crowds[term.whom];
            let inside: Vec<RoleId> =
                all.iter().copied().filter(|other| crowd.has(self.gang, *other)).collect();
            raise(&inside, 1);
            if inside.contains(&role) {
                // Another one of itself will do, wherever those of the others are.
                raise(&[role], 2);
            }
        }
        for (most, left) in most.iter_mut().zip(&self.counts) {
            *most = (*most).min(*left);
        }
        let mut counts = vec![0; self.counts.len()];
        counts[role.index()] = 1;
        let choice =
            (most.iter().sum::<i64>() > 1).then(|| Choice { least: counts.clone(), most: most.clone() });
        Self { counts, choice, ..self.clone() }
    }

    /// Replicas that run, by role.
    pub(crate) fn have(&self) -> Vec<i64> {
        let count = |nodes: &Vec<NodeId>| i64::try_from(nodes.len()).expect("fewer replicas than 2^63");
        self.running.iter().map(count).collect()
    }

    /// The roles with replicas to place.
    pub(crate) fn roles(&self) -> impl Iterator<Item = RoleId> + '_ {
        (0..self.counts.len()).filter(|role| self.counts[*role] > 0).map(RoleId::new)
    }

    pub(crate) fn count(&self, role: RoleId) -> i64 {
        self.counts[role.index()]
    }

    /// How much of a resource all replicas to place take together.
    pub(crate) fn needs(&self, model: &Model, resource: ResourceId) -> i128 {
        let each = |role: RoleId| {
            i128::from(model.role(self.gang, role).request.get(resource)) * i128::from(self.count(role))
        };
        self.roles().map(each).sum()
    }

    /// The resources of which something is needed.
    pub(crate) fn resources<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = ResourceId> + 'a {
        model.resource_ids().filter(|resource| self.needs(model, *resource) > 0)
    }
}

/// Whether the fewest replicas may be too few: slices ask for whole ones, and some replicas for company.
fn asks_for_more(facts: &GangFacts) -> bool {
    facts.asked(&[]).any(|(_, closeness)| !closeness.slices.is_empty())
        || facts.roles.iter().any(|role| role.company.iter().any(|term| term.required && !term.anti))
}

/// Whether a gang may have `totals` replicas of its roles: none, or all its minimums.
pub(crate) fn is_legal(facts: &GangFacts, totals: &[i64]) -> bool {
    let sum: i64 = totals.iter().sum();
    sum == 0
        || (facts.min_member.is_none_or(|min| sum >= min)
            && facts.roles.iter().zip(totals).all(|(role, total)| *total >= role.min)
            && has_groups(facts, totals))
}

/// Whether the groups have their minimums.
pub(crate) fn has_groups(facts: &GangFacts, totals: &[i64]) -> bool {
    let mut met = vec![0; facts.min_groups.len()];
    for group in &facts.groups {
        let held: i64 = group.roles.iter().map(|role| totals[role.index()]).sum();
        if held < group.min && (held > 0 || facts.min_groups.is_empty()) {
            return false;
        }
        if let Some(set) = group.set.filter(|_| held > 0) {
            met[set] += 1;
        }
    }
    met.iter().zip(&facts.min_groups).all(|(met, min)| met >= min)
}

/// The minimums of the roles, as far as `most` further replicas reach.
fn floor(facts: &GangFacts, have: &[i64], most: &[i64]) -> Vec<i64> {
    let reach = have.iter().zip(most).map(|(have, most)| have + most);
    let roles = facts.roles.iter().zip(have).zip(reach);
    roles.map(|((role, have), reach)| role.min.max(*have).min(reach)).collect()
}

/// Totals that are legal with few replicas beyond `have`, the role `first` and roles of higher priority first.
fn fewest(facts: &GangFacts, have: &[i64], most: &[i64], first: Option<usize>) -> Vec<i64> {
    let mut totals = floor(facts, have, most);
    let limit = |role: usize| have[role] + most[role];
    let mut order: Vec<usize> = (0..totals.len()).collect();
    order.sort_by_key(|role| (Some(*role) != first, std::cmp::Reverse(facts.roles[*role].priority), *role));
    let fill = |totals: &mut Vec<i64>, inside: &dyn Fn(usize) -> bool, mut lacking: i64| {
        for role in order.iter().copied().filter(|role| inside(*role)) {
            let more = lacking.min(limit(role) - totals[role]).max(0);
            totals[role] += more;
            lacking -= more;
        }
    };
    let held = |totals: &[i64], group: &crate::model::GroupFacts| -> i64 {
        group.roles.iter().map(|role| totals[role.index()]).sum()
    };
    let complete = |totals: &mut Vec<i64>| {
        for group in facts.groups.iter().rev() {
            let has = held(totals, group);
            if has > 0 || facts.min_groups.is_empty() {
                fill(totals, &|role| group.roles.contains(&RoleId::new(role)), group.min - has);
            }
        }
    };
    complete(&mut totals);
    for (set, min) in facts.min_groups.iter().enumerate() {
        let mut open: Vec<_> = facts.groups.iter().filter(|group| group.set == Some(set)).collect();
        open.sort_by_key(|group| (held(&totals, group) == 0, group.min, &group.name));
        for group in open.into_iter().take(usize::try_from(*min).unwrap_or(usize::MAX)) {
            let has = held(&totals, group);
            let inside = |role| group.roles.contains(&RoleId::new(role));
            fill(&mut totals, &inside, group.min.max(1) - has);
        }
    }
    let lacking = facts.min_member.unwrap_or(0) - totals.iter().sum::<i64>();
    fill(&mut totals, &|_| true, lacking);
    complete(&mut totals);
    totals
}
