//! Why a gang of a session cannot start.

use std::sync::atomic::AtomicBool;

use super::held::Session;
use crate::document::{Rejection, SolveOptions};
use crate::error::Error;

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
        self.name_pods();
        self.built.explain_alone(gang, options, stop)
    }

    /// Why the gang of a row does not start when all that wait have their turns, as the plan says it; none if it does,
    /// or does not wait, or is not there.
    ///
    /// # Errors
    /// As [`Self::explain`].
    pub fn refusal(
        &mut self,
        gang: u32,
        options: &SolveOptions,
        stop: &AtomicBool,
    ) -> Result<Option<Rejection>, Error> {
        self.name_pods();
        self.built.refusal(gang, options, stop)
    }
}
