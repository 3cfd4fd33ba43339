//! Wishes as rules: preferred levels, evenness and soft company are kept where the gang still fits.

use super::rules::{Rule, Rules, Test, Unit};
use super::sums::{Ground, Sums};
use super::tree::Rung;
use crate::model::Level;
use crate::search::Budget;

/// What holds in one try: rules, and units (roles, rung) that lie in one domain of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) rules: Vec<Rule>,
    pub(super) single: Vec<(Vec<usize>, usize)>,
}

/// Tries the wishes one after the other, those of outer units first; gives the last setting under which `vector` fits.
/// A wish that the budget cannot pay is dropped.
pub(super) fn grant(
    ground: &Ground<'_>,
    rules: &Rules,
    setting: Setting,
    sums: Sums,
    vector: &[usize],
    budget: &mut Budget<'_>,
) -> (Setting, Sums) {
    let mut wisher = Wisher { ground, vector: ground.space.number(vector), setting, sums };
    for unit in &rules.units {
        wisher.prefer(unit, budget);
    }
    for unit in rules.units.iter().filter(|unit| unit.balanced) {
        wisher.balance(unit, vector, budget);
    }
    for wish in &rules.wishes {
        let mut trial = wisher.setting.clone();
        trial.rules.push(wish.clone());
        wisher.keep_if_fits(trial, budget);
    }
    (wisher.setting, wisher.sums)
}

struct Wisher<'a> {
    ground: &'a Ground<'a>,
    vector: usize,
    setting: Setting,
    sums: Sums,
}

impl Wisher<'_> {
    fn keep_if_fits(&mut self, trial: Setting, budget: &mut Budget<'_>) -> bool {
        let part = budget.reserve_half();
        let sums = self.ground.sums(&trial.rules, &trial.single, budget);
        budget.release(part);
        match sums {
            Some(sums) if sums.total.has(self.vector) => {
                (self.setting, self.sums) = (trial, sums);
                true
            }
            _ => false,
        }
    }

    /// The finest level, from the preferred one outwards, at which one domain holds the unit.
    fn prefer(&mut self, unit: &Unit, budget: &mut Budget<'_>) {
        let Some(preferred) = unit.preferred.and_then(|level| self.ground.tree.of_level(level)) else {
            return;
        };
        let required = unit.required.and_then(|level| self.ground.tree.of_level(level));
        for rung in (0..=preferred).rev() {
            if required.is_some_and(|required| rung <= required) {
                return;
            }
            if matches!(self.ground.tree.rungs[rung], Rung::Alike(_)) {
                continue;
            }
            let mut trial = self.setting.clone();
            trial.single.push((unit.roles.clone(), rung));
            if self.keep_if_fits(trial, budget) {
                return;
            }
        }
    }

    /// The largest least share of a domain, then the smallest largest one.
    fn balance(&mut self, unit: &Unit, vector: &[usize], budget: &mut Budget<'_>) {
        let Some(rung) = self.evened(unit) else { return };
        let all: usize = unit.roles.iter().map(|role| vector[*role]).sum();
        let base = self.setting.clone();
        let with = |test: Test| {
            let mut trial = base.clone();
            trial.rules.push(Rule { rung, test });
            trial
        };
        let (mut good, mut bad) = (1, all + 1);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if self.keep_if_fits(with(Test::NoneOrAtLeast(unit.roles.clone(), middle)), budget) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        let base = self.setting.clone();
        let (mut bad, mut good) = (good.saturating_sub(1), all);
        while good - bad > 1 {
            let middle = bad + (good - bad) / 2;
            let mut trial = base.clone();
            trial.rules.push(Rule { rung, test: Test::AtMost(unit.roles.clone(), middle) });
            if self.keep_if_fits(trial, budget) {
                good = middle;
            } else {
                bad = middle;
            }
        }
    }

    /// Where evenness is counted: the level of the outermost slices, else the finest key of the topology; where all of
    /// the unit lies in one of its domains, or there is none, nodes.
    fn evened(&self, unit: &Unit) -> Option<usize> {
        let of_level = |level: Level| self.ground.tree.of_level(level);
        let keys = |rung: &Rung| match rung {
            Rung::Level(level) => Some(*level),
            Rung::Alike(_) => None,
        };
        let levels: Vec<Level> = self.ground.tree.rungs.iter().filter_map(keys).collect();
        let finest = levels.len().checked_sub(2).map_or(levels.first(), |index| levels.get(index));
        if unit.sliced.is_some() {
            return unit.sliced.and_then(of_level);
        }
        let rung = finest.copied().and_then(of_level)?;
        let is_one = |(roles, single): &(Vec<usize>, usize)| {
            *single >= rung && unit.roles.iter().all(|role| roles.contains(role))
        };
        let nodes = self.ground.tree.rungs.len() - 1;
        Some(if self.setting.single.iter().any(is_one) { nodes } else { rung })
    }
}
