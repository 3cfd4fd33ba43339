//! Random gangs with rules of every kind.

use gangplan_solver::document::{
    Closeness, Container, ExpressionOperator, Gang, Group, NodeSelectorTerm, Pod, PreferredTerm, Ranks,
    ReplicaAffinity, Role, Slice, Snapshot, Spread, Toleration, TolerationEffect, TolerationOperator,
    Traffic,
};

use super::LEVELS;
use crate::clusters::{self, Tape, amounts, expression, texts};

/// A gang; most have few rules, so that some of them fit.
pub fn gang(tape: &mut Tape<'_>, name: &str, snapshot: &Snapshot) -> Gang {
    let mut roles = Vec::new();
    for name in ["a", "b", "c"].into_iter().take(usize::from(tape.range(1, 4))) {
        roles.push(role(tape, name));
    }
    let mut gang = clusters::gang(name, roles);
    gang.topology = closeness(tape);
    gang.priority = i64::from(tape.below(2));
    gang.created = i64::from(tape.below(3)) * 100;
    gang.bypassed = i64::from(tape.below(3));
    gang.preemptible = !tape.once_in(3);
    gang.runtime_s = tape.pick(&[None, None, Some(5), Some(50)]);
    gang.namespace = tape.pick(&["", "", "team"]).to_owned();
    if !snapshot.queues.is_empty() {
        gang.queue =
            tape.pick(&[None, Some("left"), Some("right"), Some("leaf"), Some("root")]).map(str::to_owned);
    }
    let all: i64 = gang.roles.iter().map(|role| role.replicas).sum();
    if tape.once_in(5) {
        gang.min_member = Some(i64::from(tape.below(u8::try_from(all + 1).unwrap_or(u8::MAX))));
    }
    if tape.once_in(5) {
        groups(&mut gang, tape);
    }
    if tape.once_in(2) {
        let names: Vec<String> = gang.roles.iter().map(|role| role.name.clone()).collect();
        let (a, b) = (tape.pick(&names), tape.pick(&names));
        gang.traffic.push(Traffic { a, b, weight: i64::from(tape.below(4)) });
    }
    gang
}

fn role(tape: &mut Tape<'_>, name: &str) -> Role {
    let requests = [("cpu", tape.below(4)), ("gpu", tape.pick(&[0, 0, 1, 2]))];
    let mut role = clusters::role(name, i64::from(tape.range(1, 6)), &requests);
    if tape.once_in(8) {
        role.pod = Some(containers(tape));
        role.requests.clear();
    }
    if tape.once_in(8) {
        role.node_selector = texts(&[("pool", tape.pick(&["a", "b"]))]);
    }
    if tape.once_in(10) {
        let expressions = vec![expression("feed", ExpressionOperator::NotIn, &["left"])];
        role.node_affinity.push(NodeSelectorTerm { expressions });
    }
    if tape.once_in(8) {
        let expressions = vec![expression("pool", ExpressionOperator::In, &["a"])];
        role.preferred_node_affinity
            .push(PreferredTerm { weight: i64::from(tape.range(1, 100)), expressions });
    }
    if tape.once_in(3) {
        role.tolerations.push(Toleration {
            key: "dedicated".to_owned(),
            operator: TolerationOperator::Exists,
            value: String::new(),
            effect: TolerationEffect::All,
        });
    }
    if tape.once_in(4) {
        role.min = Some(i64::from(tape.below(u8::try_from(role.replicas + 1).unwrap_or(u8::MAX))));
    }
    role.priority = i64::from(tape.below(2));
    role.labels = texts(&[("kind", tape.pick(&["x", "y"]))]);
    if tape.once_in(6) {
        role.replica_affinity.push(company(tape));
    }
    if tape.once_in(4) {
        role.topology = closeness(tape);
    }
    role.ranks = tape.pick(&[None, None, None, Some(Ranks::Ring), Some(Ranks::Chain)]);
    role.single_zone = tape.once_in(8);
    role
}

fn containers(tape: &mut Tape<'_>) -> Pod {
    let mut container = |sidecar: bool| Container {
        requests: amounts(&[("cpu", tape.below(3))]),
        limits: amounts(&[("gpu", tape.below(2))]),
        sidecar,
    };
    Pod {
        containers: vec![container(false), container(false)],
        init_containers: vec![container(true), container(false)],
        overhead: amounts(&[("cpu", 1)]),
    }
}

fn company(tape: &mut Tape<'_>) -> ReplicaAffinity {
    let whom = tape.pick(&[
        ("gangplan.dev/role", "a"),
        ("gangplan.dev/role", "b"),
        ("gangplan.dev/gang", "g0"),
        ("kind", "x"),
        ("kind", "y"),
    ]);
    ReplicaAffinity {
        level: tape.pick(&["node", "rack", "zone", "kubernetes.io/hostname", "feed"]).to_owned(),
        match_labels: texts(&[whom]),
        anti: tape.once_in(2),
        required: !tape.once_in(4),
    }
}

/// Some closeness, or none.
fn closeness(tape: &mut Tape<'_>) -> Option<Closeness> {
    if tape.once_in(2) {
        return None;
    }
    let mut asked = Closeness::default();
    let level = tape.pick(&LEVELS).to_owned();
    match tape.below(9) {
        0 | 1 => asked.required = Some(level),
        2 => asked.preferred = Some(level),
        3 => {
            asked.required = Some(level);
            asked.preferred = Some(tape.pick(&LEVELS).to_owned());
        }
        4 => asked.slices.push(Slice { level, size: i64::from(tape.range(1, 4)) }),
        5 => asked.spread.push(Spread { level, most: i64::from(tape.range(1, 4)) }),
        6 => {
            asked.required = Some("zone".to_owned());
            asked.slices.push(Slice { level: "rack".to_owned(), size: 4 });
            asked.slices.push(Slice { level: "node".to_owned(), size: 2 });
        }
        7 => {
            asked.preferred = Some(level);
            asked.balanced = true;
        }
        _ => {}
    }
    Some(asked)
}

/// A group for each role, some below one of all, with minimums and perhaps a set of which not all must start.
fn groups(gang: &mut Gang, tape: &mut Tape<'_>) {
    for role in &gang.roles {
        gang.groups.push(Group {
            name: format!("of-{}", role.name),
            roles: vec![role.name.clone()],
            parent: tape.once_in(2).then(|| "all".to_owned()),
            topology: closeness(tape).filter(|_| tape.once_in(2)),
            min: tape.once_in(2).then(|| i64::from(tape.below(3)).min(role.replicas)),
            set: tape.once_in(2).then(|| "s".to_owned()),
        });
    }
    gang.groups.push(Group { name: "all".to_owned(), topology: closeness(tape), ..Group::default() });
    let in_set = gang.groups.iter().filter(|group| group.set.is_some()).count();
    if in_set > 0 && tape.once_in(2) {
        let most = u8::try_from(in_set).unwrap_or(u8::MAX);
        gang.min_groups.insert("s".to_owned(), i64::from(tape.below(most + 1)));
    }
}
