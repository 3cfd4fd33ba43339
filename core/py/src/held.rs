//! A session of either form, behind one lock.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use gangplan_solver::Error;
use gangplan_solver::document::{self, Deltas, Plan, Rejection, SolveOptions};
use gangplan_solver::session::{Conflict, Decisions, DeltaColumns, DocumentSession, Session};

/// A cluster told in columns, or in names. Columns go over to names with the first delta that comes in names.
// There is one of it, behind a lock.
#[expect(clippy::large_enum_variant)]
pub(crate) enum Held {
    Columns(Session),
    Document(DocumentSession),
}

/// Calls the method of whichever session it is.
macro_rules! either {
    ($held:expr, $session:ident => $call:expr) => {
        match $held {
            Held::Columns($session) => $call,
            Held::Document($session) => $call,
        }
    };
}

impl Held {
    pub(crate) fn solve(&mut self, options: &[u8], stop: &AtomicBool) -> Result<Decisions, Error> {
        let options = document::decode::<SolveOptions>(options)?;
        either!(self, session => session.solve(&options, stop))
    }

    pub(crate) fn plan(&mut self, options: &[u8], stop: &AtomicBool) -> Result<Plan, Error> {
        let options = document::decode::<SolveOptions>(options)?;
        either!(self, session => session.plan(&options, stop))
    }

    pub(crate) fn explain(
        &mut self,
        gang: u32,
        alone: bool,
        options: &[u8],
        stop: &AtomicBool,
    ) -> Result<Option<Rejection>, Error> {
        let options = document::decode::<SolveOptions>(options)?;
        if alone {
            either!(self, session => session.explain(gang, &options, stop))
        } else {
            either!(self, session => session.refusal(gang, &options, stop))
        }
    }

    pub(crate) fn commit(&mut self, decisions: &Decisions) -> Result<Vec<Conflict>, Error> {
        either!(self, session => session.commit(decisions))
    }

    pub(crate) fn apply(&mut self, version: u64, deltas: &Deltas) -> Result<bool, Error> {
        match self {
            Self::Document(session) => session.apply(version, deltas),
            // Known or out of order: nothing to go over for.
            Self::Columns(session) if version <= session.version() => session.apply(version, &[]),
            Self::Columns(session) => {
                let mut told = DocumentSession::of(session);
                let changed = told.apply(version, deltas)?;
                *self = Self::Document(told);
                Ok(changed)
            }
        }
    }

    pub(crate) fn apply_columns(&mut self, version: u64, columns: &DeltaColumns) -> Result<bool, Error> {
        either!(self, session => session.apply_columns(version, columns))
    }

    pub(crate) fn judge_columns(&self, columns: &DeltaColumns) -> Result<(), Error> {
        either!(self, session => session.judge_columns(columns))
    }

    pub(crate) fn snapshot(&mut self) -> Vec<u8> {
        match self {
            Self::Columns(session) => document::encode(&session.document()),
            Self::Document(session) => document::encode(session.document()),
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        either!(self, session => session.epoch())
    }

    pub(crate) fn version(&self) -> u64 {
        either!(self, session => session.version())
    }

    /// The version of deltas that come without one.
    pub(crate) fn next(&self, version: Option<u64>) -> u64 {
        version.unwrap_or_else(|| self.version().saturating_add(1))
    }

    pub(crate) fn gang_row(&self, name: &str) -> Option<u32> {
        either!(self, session => session.gang_row(name))
    }

    /// Names by row of nodes, gangs and roles, and those of resources.
    pub(crate) fn names(&self) -> [Vec<String>; 4] {
        either!(self, session => [
            session.node_names().to_vec(),
            session.gang_names().to_vec(),
            session.role_names().iter().map(|name| (*name).clone()).collect(),
            session.resources().to_vec(),
        ])
    }
}

/// A session that threads take turns at.
pub(crate) struct Shared {
    held: Mutex<Held>,
    /// The process that has its turn; 0: nobody has.
    user: AtomicU32,
}

/// A turn.
pub(crate) struct Turn<'a> {
    held: MutexGuard<'a, Held>,
    user: &'a AtomicU32,
}

impl Shared {
    pub(crate) fn new(held: Held) -> Self {
        Self { held: Mutex::new(held), user: AtomicU32::new(0) }
    }

    /// Whether a thread that a fork left behind has its turn: it never ends.
    pub(crate) fn is_left_behind(&self) -> bool {
        let user = self.user.load(Ordering::Acquire);
        user != 0 && user != std::process::id()
    }

    /// Whether somebody panicked during a turn: the session may be half changed.
    pub(crate) fn is_broken(&self) -> bool {
        self.held.is_poisoned()
    }

    pub(crate) fn turn(&self) -> Turn<'_> {
        let held = self.held.lock().expect("a session that panicked is not used again");
        self.user.store(std::process::id(), Ordering::Release);
        Turn { held, user: &self.user }
    }
}

impl std::ops::Deref for Turn<'_> {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl std::ops::DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut Held {
        &mut self.held
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.user.store(0, Ordering::Release);
    }
}
