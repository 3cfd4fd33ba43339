//! Why a gang of a session cannot start.

use std::sync::atomic::AtomicBool;

use super::held::Session;
use crate::constraint::{Demand, quota};
use crate::decide::{Because, Refused};
use crate::document::{self, Rejection, SolveOptions};
use crate::error::Error;
use crate::explain::explain;
use crate::model::GangId;
use crate::search::{Answer, Budget, Stop, place};
use crate::state::Ledger;

impl Session {
    /// Why the gang of a row cannot start as things stand, alone, with changes that were tried and rolled back; none if
    /// it can start, or does not wait, or is not there.
    ///
    /// # Errors
    /// [`Error::Invalid`] for unsound options, [`Error::Interrupted`] once `stop` is set.
    pub fn explain(
        &mut self,
        gang: u32,
        options: &SolveOptions,
        stop: &AtomicBool,
    ) -> Result<Option<Rejection>, Error> {
        document::sound(options)?;
        let Some(position) = self.rows.gangs.iter().position(|row| *row == gang) else { return Ok(None) };
        let Some(demand) = Demand::minimum(&self.model, GangId::new(position)) else { return Ok(None) };
        let mut ledger = Ledger::over(&self.model, std::mem::take(&mut self.books));
        let mut budget = Budget::new(options, stop);
        let before = ledger.checkpoint();
        let answer = if quota::admits(&ledger, &demand) {
            place(&mut ledger, &demand, &mut budget)
        } else {
            Answer::Refused { proven: true }
        };
        ledger.rollback(&before);
        let refused = |proven, because| Refused { demand: demand.clone(), proven, because };
        let refused = match answer {
            Answer::Placed(_) => None,
            Answer::Refused { proven } => Some(refused(proven, Because::Itself)),
            Answer::Stopped => Some(refused(false, Because::Stopped)),
        };
        let rejection = refused.map(|refused| explain(&mut ledger, &refused, 0, options, &mut budget));
        self.books = ledger.into_books();
        if budget.stopped() == Some(Stop::Caller) { Err(Error::Interrupted) } else { Ok(rejection) }
    }
}
