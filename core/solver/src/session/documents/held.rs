//! A cluster held in memory as a document; the model is built when it is asked for.

use std::sync::atomic::AtomicBool;

use super::names::{AllNames, leaving};
use crate::document::{Plan, Rejection, Snapshot, SolveOptions, sound};
use crate::error::Error;
use crate::model::{Model, PODS};
use crate::session::built::Built;
use crate::session::{Decisions, Session};

/// A cluster held in memory, told in names. It holds all that a snapshot can say, and takes deltas by name or by row.
/// After deltas the model is built anew when it is next asked for.
#[derive(Debug)]
pub struct DocumentSession {
    pub(super) snapshot: Snapshot,
    pub(super) names: AllNames,
    /// Names of the resources that amounts in rows are of, where they do not say it.
    pub(super) resources: Vec<String>,
    /// Made of the snapshot as it is; none after deltas.
    pub(super) built: Option<Built>,
    pub(super) version: u64,
    pub(super) epoch: u64,
    /// By row of a gang, the epoch in which it changed last.
    pub(super) gang_epochs: Vec<u64>,
}

impl DocumentSession {
    /// Takes a cluster in. Rows are those of the snapshot's lists; roles are counted gang by gang, and pods of no gang
    /// among themselves.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem of the snapshot, each with its path.
    pub fn open(snapshot: Snapshot) -> Result<Self, Error> {
        sound(&snapshot)?;
        let names = AllNames::of(&snapshot);
        let mut session = Self {
            gang_epochs: vec![0; names.gangs.count()],
            names,
            resources: Vec::new(),
            built: None,
            version: 0,
            epoch: 0,
            snapshot,
        };
        let resources = session.build().model.resources.clone();
        let lists_pods = session.snapshot.nodes.iter().any(|node| node.allocatable.contains_key(PODS));
        session.resources = resources.into_iter().filter(|resource| lists_pods || resource != PODS).collect();
        Ok(session)
    }

    /// Goes on in names where a session in columns stands; its rows, version and epoch stay, and decisions of it hold
    /// here.
    pub fn of(session: &mut Session) -> Self {
        let snapshot = session.document();
        let names = AllNames::of_columns(&session.columns, &snapshot);
        Self {
            snapshot,
            names,
            resources: session.columns.resources.clone(),
            built: None,
            version: session.version,
            epoch: session.epoch,
            gang_epochs: session.gang_epochs.clone(),
        }
    }

    /// Counts the changes so far; deltas that change nothing leave it as it is.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The version of the last deltas.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The cluster as it is now. Its lists are in no order.
    pub fn document(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Names of the resources that amounts in rows are of, where they do not say it.
    pub fn resources(&self) -> &[String] {
        &self.resources
    }

    /// Names of nodes by row, those that are gone too.
    pub fn node_names(&self) -> &[String] {
        self.names.nodes.all()
    }

    /// Names of gangs by row, those that are gone too.
    pub fn gang_names(&self) -> &[String] {
        self.names.gangs.all()
    }

    /// Names of roles by row, those that are gone too.
    pub fn role_names(&self) -> Vec<&String> {
        self.names.roles.all().iter().map(|(_, name)| name).collect()
    }

    /// Decides which waiting gangs start now, and where, as [`solve`](crate::solve()) of the snapshot does.
    ///
    /// # Errors
    /// [`Error::Invalid`] for unsound options, [`Error::Interrupted`] once `stop` is set.
    pub fn solve(&mut self, options: &SolveOptions, stop: &AtomicBool) -> Result<Decisions, Error> {
        let epoch = self.epoch;
        self.build().solve(epoch, options, stop)
    }

    /// The same decisions as a document with reasons.
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn plan(&mut self, options: &SolveOptions, stop: &AtomicBool) -> Result<Plan, Error> {
        self.build().plan(options, stop)
    }

    /// As [`Session::explain`].
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn explain(
        &mut self,
        gang: u32,
        options: &SolveOptions,
        stop: &AtomicBool,
    ) -> Result<Option<Rejection>, Error> {
        self.build().explain_alone(gang, options, stop)
    }

    /// As [`Session::refusal`].
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn refusal(
        &mut self,
        gang: u32,
        options: &SolveOptions,
        stop: &AtomicBool,
    ) -> Result<Option<Rejection>, Error> {
        self.build().refusal(gang, options, stop)
    }

    /// The model of the snapshot as it is.
    pub(super) fn build(&mut self) -> &mut Built {
        let Self { snapshot, names, built, .. } = self;
        built.get_or_insert_with(|| {
            let model = Model::build(snapshot);
            let rows = names.rows(&model);
            Built { leaving: leaving(snapshot, &model), ..Built::new(model, rows) }
        })
    }

    /// Notes what deltas changed: an epoch more, in which these gangs changed.
    pub(super) fn note(&mut self, gangs: impl Iterator<Item = u32>) {
        self.epoch += 1;
        self.gang_epochs.resize(self.names.gangs.count(), self.epoch);
        for gang in gangs {
            self.gang_epochs[gang as usize] = self.epoch;
        }
        self.built = None;
    }

    /// The row of a gang that waits or runs.
    pub fn gang_row(&self, name: &str) -> Option<u32> {
        self.snapshot.gangs.iter().any(|gang| gang.name == name).then_some(())?;
        self.names.gangs.known(&name.to_owned())
    }
}
