//! Gangs with rules about more than one replica: groups, minimums, levels of roles, slices, spread, company, zones.
//!
//! Replicas of one role are alike, so that a decision needs counts only. What a node can host is a set of count
//! vectors; what a domain can hold is the sum of the sets below it, and each rule is a test on the vectors of the
//! domains of its level. A unit that must lie in one domain of a level keeps others of that level without it when
//! they are added up. The gang fits exactly if a legal vector is in the sum of everything; the way back down the tree
//! finds the nodes. Wishes are tried as rules, one after the other, and kept where the gang still fits.
//!
//! The work is counted in words of the sets. When the budget ends, roles are placed one after the other; where that
//! fails the answer is a refusal without proof.

mod choice;
mod counts;
mod offers;
mod parts;
mod rules;
mod seats;
mod sums;
mod tree;
mod ways;
mod wishes;
mod zones;

use std::collections::BTreeMap;

use super::{Answer, Budget, Proof, Seat};
use crate::constraint::Demand;
use crate::constraint::gang::Choice;
use crate::model::{GangId, Level, Model, NodeId, RoleId};
use crate::objective::locality::Spot;
use crate::state::Ledger;
use choice::Next;
use counts::Space;
use offers::{Offers, Question};
use rules::{Rules, number};
use seats::Seats;
use sums::Ground;
use tree::Tree;
use wishes::Setting;
use zones::Zones;

/// More vectors than this are not listed.
const MOST_VECTORS: usize = 4_000_000;

/// Whether a demand has rules that only this search knows.
pub(crate) fn is_needed(model: &Model, demand: &Demand) -> bool {
    model.gang(demand.gang).is_structured || demand.choice.is_some()
}

/// Places a demand whole and books it in the Ledger. Limits are asked of each choice of counts.
pub(crate) fn place(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Answer {
    budget.count_trial();
    let parts_first = parts::come_first(ledger.model(), demand);
    let is_fixed = demand.choice.is_none();
    if parts_first && is_fixed && (lacks_room(ledger, demand) || parts::refute(ledger, demand, budget)) {
        return if budget.poll().is_some() { Answer::Stopped } else { Answer::Refused(Proof::Found) };
    }
    let early = if parts_first { parts::place(ledger, demand, budget) } else { None };
    if parts_first {
        budget.refill();
    }
    let mut found = match early {
        Some(spots) => Found::Seats(spots),
        None => search_with_company(ledger, demand, budget),
    };
    // What ended the search of the whole; the parts prove nothing.
    let end = Proof::cut(budget);
    if matches!(found, Found::Spent) && !parts_first && budget.poll().is_none() {
        found = parts::place(ledger, demand, budget).map_or(Found::Spent, Found::Seats);
    }
    if budget.poll().is_some() && !matches!(found, Found::Seats(_)) {
        return Answer::Stopped;
    }
    match found {
        Found::Seats(spots) => {
            for spot in &spots {
                ledger.take(demand.gang, spot.role, spot.node, spot.count);
            }
            let level = common_level(ledger.model(), demand, &spots);
            Answer::Placed(Seat { spots, level })
        }
        Found::Nothing => Answer::Refused(Proof::Found),
        Found::Spent => Answer::Refused(end),
    }
}

enum Found {
    Seats(Vec<Spot>),
    Nothing,
    Spent,
}

/// The search; where there is a choice of counts, also for a single replica of each kind that would need company of
/// its own kind if there were more.
fn search_with_company(ledger: &Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Found {
    let mut found = search(ledger, demand, demand, budget);
    let Some(choice) = demand.choice.as_ref().filter(|_| matches!(found, Found::Nothing)) else {
        return found;
    };
    let model = ledger.model();
    for (role, facts) in model.gang(demand.gang).roles() {
        for term in facts.company.iter().filter(|term| term.required && !term.anti) {
            let is_of_kind = |other: usize| model.crowds[term.whom].has(demand.gang, RoleId::new(other));
            let mut most = choice.most.clone();
            for (other, most) in most.iter_mut().enumerate().filter(|(other, _)| is_of_kind(*other)) {
                *most = i64::from(other == role.index()).min(*most);
            }
            let possible =
                is_of_kind(role.index()) && most.iter().zip(&choice.least).all(|(most, least)| most >= least);
            if most != choice.most && possible {
                let choice = Some(Choice { most, ..choice.clone() });
                found = search_with_company(ledger, &Demand { choice, ..demand.clone() }, budget);
                if !matches!(found, Found::Nothing) {
                    return found;
                }
            }
        }
    }
    found
}

/// Places a demand, which may be a part of `whole`.
fn search(ledger: &Ledger<'_>, demand: &Demand, whole: &Demand, budget: &mut Budget<'_>) -> Found {
    let model = ledger.model();
    let have: Vec<usize> = demand.running.iter().map(Vec::len).collect();
    let most: Vec<usize> = match &demand.choice {
        Some(choice) => choice.most.iter().map(|most| number(*most)).collect(),
        None => demand.counts.iter().map(|count| number(*count)).collect(),
    };
    let tops: Vec<usize> = have.iter().zip(&most).map(|(have, most)| have + most).collect();
    let mut offers = Offers::survey(ledger, demand, &most);
    // Sums first: they refuse most that cannot fit, for next to nothing.
    if !has_enough(ledger, demand, &offers) {
        return Found::Nothing;
    }
    let Some(space) = Space::new(tops, MOST_VECTORS) else { return Found::Spent };
    let places = places(ledger, demand);
    let likenesses: Vec<usize> =
        model.gang(demand.gang).roles.iter().flat_map(|role| &role.company).map(|term| term.near).collect();
    let (tree, _) = Tree::over(model, &offers.nodes, &likenesses, &levels_asked(model, demand));
    let rules = Rules::of(ledger, demand, whole, &tree, &offers.nodes, &places);
    offers.restrict(&rules);
    let zones = Zones::of(ledger, demand, &places);
    let question = Question { ledger, demand, space: &space, offers: &offers, zones: &zones };
    let Some(ground) = Ground::survey(&question, tree, &rules.presences, budget) else {
        return Found::Spent;
    };
    let required = rules
        .units
        .iter()
        .filter_map(|unit| Some((unit.roles.clone(), ground.tree.of_level(unit.required?)?)));
    let setting = Setting { rules: rules.tests.clone(), single: required.collect() };
    let Some(sums) = ground.sums(&setting.rules, &setting.single, budget) else { return Found::Spent };
    let mut spent = false;
    let mut before = None;
    loop {
        let candidate = match choice::next(ledger, demand, whole, &ground, &sums, before.as_ref(), budget) {
            Next::Best(candidate) => candidate,
            Next::Nothing => break,
            Next::Spent => return Found::Spent,
        };
        let vector = &candidate.vector;
        let (granted, better) = wishes::grant(&ground, &rules, setting.clone(), sums.clone(), vector, budget);
        let mut seats = Seats { ground: &ground, sums: &better, fill: budget.fill(), found: Vec::new() };
        if !seat(&mut seats, &rules, &granted, vector, budget) {
            return Found::Spent;
        }
        if rules.hold_across(model, &ways::held(&seats, &seats.found)) {
            return Found::Seats(spots(&ground, seats.found));
        }
        // With the wishes first, if there are any that hold in the tree.
        let plain = Seats { ground: &ground, sums: &sums, fill: budget.fill(), found: Vec::new() };
        let with_wishes = (granted != setting).then_some(&seats);
        for seats in with_wishes.into_iter().chain([&plain]) {
            let part = if std::ptr::eq(seats, &raw const plain) { 0 } else { budget.reserve_half() };
            let outcome = ways::search(seats, &rules, model, vector, budget);
            budget.release(part);
            match outcome {
                ways::Outcome::Found(found) => return Found::Seats(spots(&ground, found)),
                ways::Outcome::None => {}
                ways::Outcome::Spent => spent |= part == 0,
            }
        }
        before = Some(candidate);
    }
    if spent { Found::Spent } else { Found::Nothing }
}

/// The nodes of a vector: in the tightest domain of the level in which the whole gang must lie, if there is one.
fn seat(
    seats: &mut Seats<'_>,
    rules: &Rules,
    setting: &Setting,
    vector: &[usize],
    budget: &mut Budget<'_>,
) -> bool {
    let ground = seats.ground;
    let number = ground.space.number(vector);
    let running = ground.running_in_all();
    let everyone =
        |roles: &[usize]| vector.iter().enumerate().all(|(role, count)| *count == 0 || roles.contains(&role));
    let rung = setting.single.iter().filter(|(roles, _)| everyone(roles)).map(|(_, rung)| *rung).max();
    if let Some(rung) = rung {
        let mut parents = vec![None; ground.tree.branches.len()];
        for (branch, facts) in ground.tree.branches.iter().enumerate() {
            facts.children.iter().for_each(|child| parents[*child] = Some(branch));
        }
        let above = |branch: usize| std::iter::successors(parents[branch], |outer| parents[*outer]);
        let key = |branch: &usize| (std::cmp::Reverse(ground.scores[*branch]), seats.room(*branch), *branch);
        let domain = (0..ground.tree.branches.len())
            .filter(|branch| ground.tree.branches[*branch].rung == rung && seats.sums.of[*branch].has(number))
            // The domains around it have rules of their own.
            .filter(|branch| above(*branch).all(|outer| seats.sums.of[outer].has(number)))
            // What runs elsewhere is not in the sums of this domain.
            .filter(|branch| ground.running[*branch] == running)
            .min_by_key(key);
        if let Some(domain) = domain {
            return seats.within(domain, vector, budget);
        }
    }
    debug_assert!(
        !rules.units.is_empty() || setting.single.is_empty(),
        "only units are asked to be in one domain"
    );
    seats.over(&ground.tree.roots, 0, vector, budget)
}

/// Whether sums alone refuse a demand of fixed counts.
fn lacks_room(ledger: &Ledger<'_>, demand: &Demand) -> bool {
    let most: Vec<usize> = demand.counts.iter().map(|count| number(*count)).collect();
    !has_enough(ledger, demand, &Offers::survey(ledger, demand, &most))
}

/// Whether each role finds enough places, counted by itself, and all of them enough of each resource.
fn has_enough(ledger: &Ledger<'_>, demand: &Demand, offers: &Offers) -> bool {
    let least = demand.choice.as_ref().map_or(&demand.counts, |choice| &choice.least);
    let has_places = least.iter().enumerate().all(|(role, least)| {
        offers.caps.iter().map(|caps| caps[role]).fold(0, usize::saturating_add) >= number(*least)
    });
    let least = Demand { counts: least.clone(), ..demand.clone() };
    let model = ledger.model();
    has_places
        && least.resources(model).all(|resource| {
            let free = |node: &NodeId| i128::from(ledger.free(*node)[resource.index()]).max(0);
            offers.nodes.iter().map(free).sum::<i128>() >= least.needs(model, resource)
        })
}

/// The levels that the rules of a gang are about.
fn levels_asked(model: &Model, demand: &Demand) -> Vec<Level> {
    let facts = model.gang(demand.gang);
    let all: Vec<RoleId> = facts.roles().map(|(role, _)| role).collect();
    let mut levels: Vec<Level> = demand.required.into_iter().collect();
    for (_, closeness) in facts.asked(&all) {
        levels.extend(closeness.required.iter().chain(&closeness.preferred));
        levels.extend(closeness.slices.iter().chain(&closeness.spread).map(|layer| layer.level));
    }
    levels
}

/// What the leaves hold beyond what runs there, sorted by node, then role.
fn spots(ground: &Ground<'_>, found: Vec<(usize, Vec<usize>)>) -> Vec<Spot> {
    let mut spots = Vec::new();
    for (leaf, vector) in found {
        let Some(node) = ground.tree.branches[leaf].node else { continue };
        for (role, (total, running)) in vector.iter().zip(&ground.running[leaf]).enumerate() {
            if total > running {
                let count = i64::try_from(total - running).unwrap_or(i64::MAX);
                spots.push(Spot { node, role: RoleId::new(role), count });
            }
        }
    }
    spots.sort();
    spots
}

/// All replicas that hold a place now, where rules of this gang or about it need to know them.
fn places(ledger: &Ledger<'_>, demand: &Demand) -> Vec<(GangId, RoleId, NodeId)> {
    let model = ledger.model();
    let roles = &model.gang(demand.gang).roles;
    let is_alone =
        model.shy.is_empty() && roles.iter().all(|role| role.company.is_empty() && !role.single_zone);
    if is_alone {
        return Vec::new();
    }
    let mut held: BTreeMap<(GangId, RoleId, NodeId), i64> = BTreeMap::new();
    for gang in model.gang_ids().filter(|_| !ledger.is_vacant()) {
        for (role, facts) in model.gang(gang).roles() {
            for replica in &facts.running {
                *held.entry((gang, role, replica.node)).or_default() += 1;
            }
        }
    }
    for entry in ledger.journal() {
        *held.entry((entry.gang, entry.role, entry.node)).or_default() += entry.count;
    }
    held.into_iter().flat_map(|(place, count)| std::iter::repeat_n(place, number(count))).collect()
}

/// The finest level at which one domain holds all replicas of the gang.
fn common_level(model: &Model, demand: &Demand, spots: &[Spot]) -> Level {
    let nodes: Vec<NodeId> =
        spots.iter().map(|spot| spot.node).chain(demand.running.iter().flatten().copied()).collect();
    let holds = |level: &Level| {
        nodes
            .windows(2)
            .all(|pair| *level == Level::CLUSTER || !model.topology.parts(*level, pair[0], pair[1]))
    };
    model.topology.fine_to_coarse().find(holds).unwrap_or(Level::CLUSTER)
}
