//! One decision: every waiting gang gets its turn, and is placed whole or refused.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::constraint::{Demand, quota};
use crate::document::{Bypass, SolveOptions};
use crate::earmark::Earmark;
use crate::model::{GangId, QueueId, RoleId};
use crate::objective::locality::Spot;
use crate::order::{Turn, Turns};
use crate::search::{Answer, Budget, Proof, largest, place};
use crate::state::Ledger;

/// What becomes of the waiting gangs.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    /// What each gang gets; it is booked.
    pub(crate) placed: BTreeMap<GangId, Vec<Spot>>,
    /// In the order of their turns.
    pub(crate) refused: Vec<Refused>,
    pub(crate) earmarks: Vec<Earmark>,
}

/// A gang that was not placed.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) demand: Demand,
    pub(crate) proof: Proof,
    pub(crate) because: Because,
}

/// Why a gang was not placed, as far as its turn tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Because {
    /// Its queue does not admit it, or it does not fit.
    Itself,
    /// The solve was stopped before an answer was found.
    Stopped,
    /// This gang of its queue came first and cannot start; nothing starts behind it.
    Behind(GangId),
    /// It fits only into room that is kept for this gang.
    KeptFor(GangId),
    /// Replicas of it are leaving, without which it cannot have its minimum.
    Leaving,
}

/// Gives every waiting gang its turns: one for its minimum, then one for each step of its growth. What is placed stays
/// booked, what is kept for earmarks does not.
pub(crate) fn decide(ledger: &mut Ledger<'_>, options: &SolveOptions, budget: &mut Budget<'_>) -> Decision {
    let mut turns = Turns::new(ledger, options);
    if options.nonpreemptible_within_deserved {
        ledger.set_ceilings(turns.entitlements().ceilings());
    }
    let model = ledger.model();
    let waiting = model.gang_ids().map(|gang| model.gang(gang)).filter(|gang| gang.waits());
    ledger.expect(waiting.map(|gang| 2 * gang.roles.len()).sum());
    let mut round = Round {
        ledger,
        options,
        budget,
        decision: Decision::default(),
        ways: BTreeMap::new(),
        behind: BTreeMap::new(),
    };
    while let Some(turn) = turns.next(round.ledger) {
        let gang = turn.demand.gang;
        let grows_alone = round.ledger.model().gang(gang).is_elastic() && turns.is_last();
        let turn = grows_alone.then(|| round.widened(&turn)).flatten().unwrap_or(turn);
        match round.ask(&turn) {
            Ok(spots) => {
                turns.placed(&turn, &spots);
                round.ask_again(&mut turns, gang, &spots);
                match round.decision.placed.entry(gang) {
                    Entry::Vacant(entry) => drop(entry.insert(spots)),
                    Entry::Occupied(mut entry) => entry.get_mut().extend(spots),
                }
            }
            Err((proof, because)) => {
                let refused = round.first_of_ways(Refused { demand: turn.demand.clone(), proof, because });
                if turns.passes_over(&turn) {
                    round.ways.insert(gang, refused);
                    continue;
                }
                round.decision.refused.push(refused);
                if options.bypass == Bypass::None {
                    for (behind, ways) in turns.close_line(gang) {
                        round.behind.entry(gang).or_default().push(behind);
                        round.refuse_behind(ways, gang);
                    }
                }
            }
        }
    }
    let Round { ledger, decision, .. } = round;
    for earmark in &decision.earmarks {
        earmark.keep(ledger, -1);
    }
    decision
}

/// A decision under way.
struct Round<'r, 'm, 'b> {
    ledger: &'r mut Ledger<'m>,
    options: &'r SolveOptions,
    budget: &'r mut Budget<'b>,
    decision: Decision,
    /// By gang, the way to grow that its refusal will be about.
    ways: BTreeMap<GangId, Refused>,
    /// By gang that cannot start, those that were refused behind it.
    behind: BTreeMap<GangId, Vec<GangId>>,
}

impl<'m> Round<'_, 'm, '_> {
    /// Of the ways to grow that were refused so far and one more the first without proof, else the first: it comes from
    /// the role of highest priority.
    fn first_of_ways(&mut self, next: Refused) -> Refused {
        match self.ways.remove(&next.demand.gang) {
            Some(first) if first.proof != Proof::Found || next.proof == Proof::Found => first,
            _ => next,
        }
    }

    /// Gives those another turn that wait for company which came with `spots` of a gang.
    fn ask_again(&mut self, turns: &mut Turns<'m>, gang: GangId, spots: &[Spot]) {
        let model = self.ledger.model();
        if model.crowds.is_empty() {
            return;
        }
        let misses = |of: GangId, role: RoleId| {
            let terms = model.role(of, role).company.iter().filter(|term| term.required && !term.anti);
            let mut crowds = terms.map(|term| &model.crowds[term.whom]);
            crowds.any(|crowd| spots.iter().any(|spot| crowd.has(gang, spot.role)))
        };
        let stuck = turns.stuck().filter(|(of, role)| misses(*of, *role)).map(|(of, _)| of);
        let refused = self.decision.refused.iter().map(|refused| refused.demand.gang);
        let refused = refused.filter(|of| model.gang(*of).roles().any(|(role, _)| misses(*of, role)));
        let mut woken: BTreeSet<GangId> = stuck.chain(refused).collect();
        for head in woken.clone() {
            woken.extend(self.behind.remove(&head).into_iter().flatten());
        }
        self.decision.refused.retain(|refused| !woken.contains(&refused.demand.gang));
        for gang in woken {
            self.ways.remove(&gang);
            if let Some(index) = self.decision.earmarks.iter().position(|earmark| earmark.gang == gang) {
                self.decision.earmarks.remove(index).keep(self.ledger, -1);
            }
            turns.again(gang);
        }
    }

    /// Places what a turn asks for, all or nothing; else whether a refusal is proven, and why.
    fn ask(&mut self, turn: &Turn) -> Result<Vec<Spot>, (Proof, Because)> {
        let demand = &turn.demand;
        if self.budget.poll().is_some() {
            return Err((Proof::NoTime, Because::Stopped));
        }
        if !demand.reaches_minimum(self.ledger.model()) {
            return Err((Proof::Found, Because::Leaving));
        }
        let gang = demand.gang;
        let model = self.ledger.model();
        let may_keep = |round: &Self| {
            let grows = round.decision.placed.contains_key(&gang) || Demand::minimum(model, gang).is_none();
            round.options.bypass == Bypass::Earmark && !grows
        };
        if !quota::admits(self.ledger, demand) {
            if may_keep(self) {
                self.earmark(demand, |round| Earmark::below_limits(round.ledger, demand));
            }
            return Err((Proof::Found, Because::Itself));
        }
        let mut earmarks = self.decision.earmarks.iter();
        let is_limited = |kept: &&Earmark| !kept.is_open_to(model, gang) && kept.limits(model, demand);
        if let Some(kept) = earmarks.find(is_limited) {
            return Err((Proof::Found, Because::KeptFor(kept.gang)));
        }
        let closed: Vec<usize> = (0..self.decision.earmarks.len())
            .filter(|index| !self.decision.earmarks[*index].is_open_to(model, gang))
            .collect();
        for (index, earmark) in self.decision.earmarks.iter().enumerate() {
            if !closed.contains(&index) {
                earmark.keep(self.ledger, -1);
            }
        }
        self.budget.refill();
        let answer = place(self.ledger, demand, self.budget);
        for (index, earmark) in self.decision.earmarks.iter().enumerate() {
            if !closed.contains(&index) {
                earmark.keep(self.ledger, 1);
            }
        }
        match answer {
            Answer::Placed(seat) => Ok(seat.spots),
            Answer::Stopped => Err((Proof::NoTime, Because::Stopped)),
            Answer::Refused(proof) => {
                let because = self.keeper(demand, &closed).map_or(Because::Itself, Because::KeptFor);
                if because == Because::Itself && may_keep(self) {
                    self.earmark(demand, |round| {
                        Earmark::find(round.ledger, demand, &round.decision.placed, round.budget)
                    });
                }
                Err((proof, because))
            }
        }
    }

    /// A growth by one replica, made as large as fits: with nobody else waiting the gang would have one turn after the
    /// other.
    fn widened(&mut self, turn: &Turn) -> Option<Turn> {
        let demand = &turn.demand;
        let model = self.ledger.model();
        let mut roles = demand.roles();
        let (Some(role), None) = (roles.next(), roles.next()) else { return None };
        let left = model.role(demand.gang, role).staying() - demand.have()[role.index()];
        let grows =
            self.decision.placed.contains_key(&demand.gang) || Demand::minimum(model, demand.gang).is_none();
        if !grows || demand.choice.is_some() || left < 2 {
            return None;
        }
        let with = |count: i64| {
            let mut demand = demand.clone();
            demand.counts[role.index()] = count;
            Turn { demand }
        };
        let mut fits = |count: i64| {
            let checkpoint = self.ledger.checkpoint();
            let fits = self.ask(&with(count)).is_ok();
            self.ledger.rollback(&checkpoint);
            fits
        };
        let most = if fits(left) { left } else { largest(1, left, fits) };
        Some(with(most))
    }

    /// The gang whose earmark is in the way of another: without what is kept it would fit.
    fn keeper(&mut self, demand: &Demand, closed: &[usize]) -> Option<GangId> {
        let first = *closed.first()?;
        let checkpoint = self.ledger.checkpoint();
        for index in closed {
            self.decision.earmarks[*index].keep(self.ledger, -1);
        }
        self.budget.refill();
        let fits = matches!(place(self.ledger, demand, self.budget), Answer::Placed(_));
        self.ledger.rollback(&checkpoint);
        fits.then(|| self.decision.earmarks[first].gang)
    }

    /// Keeps room for a gang, if it is the first of its top queue that waits for room, and waited for long enough.
    fn earmark(&mut self, demand: &Demand, find: impl FnOnce(&mut Self) -> Option<Earmark>) {
        let top = |gang: GangId| -> Option<QueueId> {
            self.ledger.model().path_up(self.ledger.model().gang(gang).queue).last()
        };
        let queue = top(demand.gang);
        if self.decision.earmarks.iter().any(|earmark| top(earmark.gang) == queue) {
            return;
        }
        if !self.waited_enough(demand.gang) {
            return;
        }
        if let Some(earmark) = find(self) {
            earmark.keep(self.ledger, 1);
            self.decision.earmarks.push(earmark);
        }
    }

    fn waited_enough(&self, gang: GangId) -> bool {
        let facts = self.ledger.model().gang(gang);
        let (age, bypasses) = (self.options.earmark_after_s, self.options.earmark_after_bypasses);
        (age.is_none() && bypasses.is_none())
            || age.is_some_and(|age| facts.age_s >= age)
            || bypasses.is_some_and(|bypasses| facts.bypassed >= bypasses)
    }

    /// Refuses a gang that comes behind one that cannot start, and waits for any of `ways`; its own reason goes first,
    /// if it has one.
    fn refuse_behind(&mut self, ways: Vec<Demand>, head: GangId) {
        let mut refused: Option<Refused> = None;
        for demand in ways {
            let (proof, because) = self.try_behind(&demand, head);
            // Of all ways to grow the first without proof says most, else the first.
            let says_more = |before: &Refused| before.proof == Proof::Found && proof != Proof::Found;
            if because != Because::Itself || refused.as_ref().is_none_or(says_more) {
                refused = Some(Refused { demand, proof, because });
            }
            if because != Because::Itself {
                break;
            }
        }
        self.decision.refused.extend(refused);
    }

    fn try_behind(&mut self, demand: &Demand, head: GangId) -> (Proof, Because) {
        if !demand.reaches_minimum(self.ledger.model()) {
            return (Proof::Found, Because::Leaving);
        }
        if !quota::admits(self.ledger, demand) {
            return (Proof::Found, Because::Itself);
        }
        let checkpoint = self.ledger.checkpoint();
        self.budget.refill();
        let answer = place(self.ledger, demand, self.budget);
        self.ledger.rollback(&checkpoint);
        match answer {
            Answer::Placed(_) => (Proof::Found, Because::Behind(head)),
            Answer::Refused(proof) => (proof, Because::Itself),
            Answer::Stopped => (Proof::NoTime, Because::Stopped),
        }
    }
}
