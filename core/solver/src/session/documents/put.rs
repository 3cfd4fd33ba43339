//! Deltas by name: tried on the snapshot, judged with it, and taken back whole if anything is wrong.

use std::collections::{BTreeMap, BTreeSet};

use super::held::DocumentSession;
use super::listed::{Tried, put};
use crate::document::{
    Deltas, Findings, Gang, NamespaceQuota, Node, Queue, Running, Snapshot, contradictions, sound,
};
use crate::error::{Error, Problem};

impl DocumentSession {
    /// Takes changes in, all or none. `version` is that of their source and rises: deltas of the last version are
    /// known already and change nothing; those of an older one are refused. Whether anything changed.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem of the deltas and of the cluster as it would be, or if they come out of
    /// order.
    pub fn apply(&mut self, version: u64, deltas: &Deltas) -> Result<bool, Error> {
        if !crate::session::apply::is_new(self.version, version)? {
            return Ok(false);
        }
        let is_other = self.take(deltas)?;
        self.version = version;
        Ok(is_other)
    }

    /// Does what deltas say; whether that is anything else than before.
    pub(super) fn take(&mut self, deltas: &Deltas) -> Result<bool, Error> {
        let mut findings = Findings::default();
        contradictions(deltas, &mut findings);
        let mut problems = findings.problems;
        let now = self.snapshot.now;
        let trial = Trial::new(&mut self.snapshot, deltas);
        let is_other = trial.is_other() || deltas.now.is_some_and(|other| other != now);
        if is_other && let Err(Error::Invalid { problems: more, .. }) = sound(&self.snapshot) {
            problems.extend(more.into_iter().map(|problem| trial.placed(&self.snapshot, deltas, problem)));
        }
        if !problems.is_empty() {
            trial.undo(&mut self.snapshot);
            return Err(Error::invalid("deltas", problems));
        }
        if is_other {
            self.snapshot.now = deltas.now.unwrap_or(now);
            let changed = trial.changed_gangs(&self.snapshot);
            self.names.note(&self.snapshot);
            let rows: Vec<u32> = changed.iter().filter_map(|gang| self.names.gangs.known(gang)).collect();
            self.note(rows.into_iter());
        }
        Ok(is_other)
    }
}

/// Deltas that were put into a snapshot.
struct Trial {
    nodes: Tried<Node>,
    queues: Tried<Queue>,
    gangs: Tried<Gang>,
    running: Tried<Running>,
    quotas: Tried<NamespaceQuota>,
}

impl Trial {
    fn new(snapshot: &mut Snapshot, deltas: &Deltas) -> Self {
        let gone = &deltas.gone;
        let set = |names: &'_ [String]| -> BTreeSet<String> { names.iter().cloned().collect() };
        let (nodes, queues, gangs) = (set(&gone.nodes), set(&gone.queues), set(&gone.gangs));
        let (pods, quotas) = (set(&gone.running), set(&gone.quotas));
        let replicas: BTreeSet<_> = deltas.running.iter().filter_map(replica).collect();
        let names: BTreeSet<&str> = deltas.running.iter().map(|holder| holder.name.as_str()).collect();
        let leaves = |holder: &Running| {
            let of_gone_gang = holder.gang.as_ref().is_some_and(|gang| gangs.contains(gang));
            let is_again = !names.contains(holder.name.as_str())
                && replica(holder).is_some_and(|replica| replicas.contains(&replica));
            pods.contains(&holder.name) || nodes.contains(&holder.node) || of_gone_gang || is_again
        };
        Self {
            running: put(&mut snapshot.running, &deltas.running, |one| &one.name, leaves),
            nodes: put(&mut snapshot.nodes, &deltas.nodes, |one| &one.name, |one| nodes.contains(&one.name)),
            queues: put(
                &mut snapshot.queues,
                &deltas.queues,
                |one| &one.name,
                |one| queues.contains(&one.name),
            ),
            gangs: put(&mut snapshot.gangs, &deltas.gangs, |one| &one.name, |one| gangs.contains(&one.name)),
            quotas: put(
                &mut snapshot.quotas,
                &deltas.quotas,
                |one| &one.namespace,
                |one| quotas.contains(&one.namespace),
            ),
        }
    }

    fn is_other(&self) -> bool {
        self.nodes.is_other
            || self.queues.is_other
            || self.gangs.is_other
            || self.running.is_other
            || self.quotas.is_other
    }

    fn undo(self, snapshot: &mut Snapshot) {
        self.nodes.undo(&mut snapshot.nodes);
        self.queues.undo(&mut snapshot.queues);
        self.gangs.undo(&mut snapshot.gangs);
        self.running.undo(&mut snapshot.running);
        self.quotas.undo(&mut snapshot.quotas);
    }

    /// Gangs that are other than before, or of which other replicas hold a place.
    fn changed_gangs(&self, snapshot: &Snapshot) -> BTreeSet<String> {
        let mut changed = differing(&self.gangs, &snapshot.gangs, |gang| &gang.name, |gang| Some(&gang.name));
        let of_running =
            differing(&self.running, &snapshot.running, |holder| &holder.name, |holder| holder.gang.as_ref());
        changed.extend(of_running);
        changed
    }

    /// A problem of the snapshot where the deltas have it: at what came, at the queue that goes though something
    /// still names it, or at their root.
    fn placed(&self, snapshot: &Snapshot, deltas: &Deltas, problem: Problem) -> Problem {
        let Some((list, index, rest)) = item(&problem.path) else { return problem };
        let gang = snapshot.gangs.get(index).filter(|_| list == "gangs");
        let queue = snapshot.queues.get(index).filter(|_| list == "queues");
        let (put, kind, name) = match list {
            "nodes" => (self.nodes.put, "node", snapshot.nodes.get(index).map(|one| &one.name)),
            "queues" => (self.queues.put, "queue", queue.map(|one| &one.name)),
            "gangs" => (self.gangs.put, "gang", gang.map(|one| &one.name)),
            "running" => {
                (self.running.put, "replica or pod", snapshot.running.get(index).map(|one| &one.name))
            }
            _ => (self.quotas.put, "quota of", snapshot.quotas.get(index).map(|one| &one.namespace)),
        };
        if index < put {
            return problem;
        }
        let name = name.map_or("", String::as_str);
        let named = match rest {
            "queue" => gang.and_then(|gang| gang.queue.as_ref()),
            "parent" => queue.and_then(|queue| queue.parent.as_ref()),
            _ => None,
        };
        let gone = named.and_then(|named| deltas.gone.queues.iter().position(|gone| gone == named));
        let (path, message) = match gone {
            Some(at) => {
                (format!("$.gone.queues[{at}]"), format!("is still the {rest} of the {kind} '{name}'"))
            }
            None => (
                "$".to_owned(),
                format!("would make the {kind} '{name}' wrong ({rest}): {}", problem.message),
            ),
        };
        Problem { path, code: problem.code, message }
    }
}

/// What `gang` tells of the items that came or went, unless they are the same again.
fn differing<'a, T: PartialEq>(
    tried: &'a Tried<T>,
    list: &'a [T],
    name: impl Fn(&'a T) -> &'a str,
    gang: impl Fn(&'a T) -> Option<&'a String>,
) -> BTreeSet<String> {
    let put: BTreeMap<&str, &T> = list[..tried.put].iter().map(|item| (name(item), item)).collect();
    let out: BTreeMap<&str, &T> = tried.out.iter().map(|item| (name(item), item)).collect();
    let came = put.iter().filter(|(name, item)| out.get(*name) != Some(item));
    let went = out.iter().filter(|(name, item)| put.get(*name) != Some(item));
    came.chain(went).filter_map(|(_, item)| gang(item).cloned()).collect()
}

/// `$.gangs[3].roles[0].min` → `gangs`, 3, `roles[0].min`.
fn item(path: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = path.strip_prefix("$.")?.split_once('[')?;
    let (index, rest) = rest.split_once(']')?;
    Some((list, index.parse().ok()?, rest.trim_start_matches('.')))
}

/// Which replica of which gang it is.
pub(super) fn replica(holder: &Running) -> Option<(String, String, i64)> {
    Some((holder.gang.clone()?, holder.role.clone()?, holder.index?))
}
