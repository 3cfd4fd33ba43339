//! What a certificate says is true: under its weights no domain that may hold the gang can host what it needs.

use std::collections::{BTreeMap, BTreeSet};

use super::room::{Amounts, left, replica};
use super::{Violations, cluster::Cluster, nodes::forbidding, topology::is_inside};
use crate::document::{Certificate, Gang, Node, Path, Plan, Role, Rule};

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let left = left(cluster, plan);
    let root = Path::Root.field("rejections");
    for (name, rejection) in plan.rejections.iter().filter(|(_, refused)| !refused.certificates.is_empty()) {
        let Some(gang) = cluster.gangs.get(name.as_str()) else { continue };
        let path = root.field(name);
        let path = path.field("certificates");
        let mut open: BTreeSet<String> = domains(cluster, gang)
            .into_iter()
            .filter(|domain| holds_running(cluster, gang, domain))
            .collect();
        for (index, certificate) in rejection.certificates.iter().enumerate() {
            if let Some(fault) = fault(cluster, gang, certificate, &left) {
                found.add(Rule::CertificateWrong, &path.item(index), fault);
            }
            certificate.domains.iter().for_each(|domain| {
                open.remove(domain);
            });
        }
        if let Some(domain) = open.first() {
            let message = format!("nothing is proven for the domain '{domain}'");
            found.add(Rule::CertificateWrong, &path, message);
        }
    }
}

/// What is wrong with a certificate.
fn fault(
    cluster: &Cluster<'_>,
    gang: &Gang,
    certificate: &Certificate,
    left: &BTreeMap<&str, Amounts>,
) -> Option<String> {
    let weight = |role: &Role| i128::from(certificate.weights.get(&role.name).copied().unwrap_or(0));
    if certificate.weights.values().any(|weight| *weight < 0) {
        return Some("a weight is negative".to_owned());
    }
    let Some(counts) = must_start(cluster, gang) else {
        return Some("which replicas must start is a choice".to_owned());
    };
    let count = |role: &Role| counts[role.name.as_str()];
    let needs: i128 = gang.roles.iter().map(|role| weight(role) * count(role)).sum();
    if needs != i128::from(certificate.needs) {
        return Some(format!("what must still start weighs {needs}, not {}", certificate.needs));
    }
    if certificate.most >= certificate.needs {
        return Some("what the domains host at most is not less than what is needed".to_owned());
    }
    let mut known = BTreeMap::new();
    for domain in &certificate.domains {
        let hosts = cluster.nodes.values().filter(|node| lies_in(cluster, gang, node, domain));
        let mut sum = 0;
        for node in hosts {
            let roles: Vec<&Role> = gang
                .roles
                .iter()
                .filter(|role| weight(role) > 0 && forbidding(cluster, gang, role, node).is_empty())
                .collect();
            let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
            let free = &left[node.name.as_str()];
            sum += *known.entry((names, free.clone())).or_insert_with(|| {
                let asks: Vec<(Amounts, i128, i128)> =
                    roles.iter().map(|role| (replica(role), weight(role), count(role))).collect();
                if free.values().any(|amount| *amount < 0) { 0 } else { heaviest(free, &asks) }
            });
        }
        if sum > i128::from(certificate.most) {
            return Some(format!("the domain '{domain}' can host {sum}, not at most {}", certificate.most));
        }
    }
    None
}

/// By role, how many replicas must start for the gang to have its minimum: more of them help nobody. None where that is
/// a choice, or nothing must.
fn must_start<'a>(cluster: &Cluster<'_>, gang: &'a Gang) -> Option<BTreeMap<&'a str, i128>> {
    let whole = |count: usize| i128::try_from(count).unwrap_or(i128::MAX);
    let is_elastic = gang.min_member.is_some() || !gang.min_groups.is_empty();
    let mut counts = BTreeMap::new();
    let mut open = Vec::new();
    let mut total = 0;
    for role in &gang.roles {
        let (running, missing) =
            (whole(cluster.running(gang, role).len()), whole(cluster.missing(gang, role)));
        let min = i128::from(role.min.unwrap_or(if is_elastic { 0 } else { role.replicas }));
        let count = (min - running).clamp(0, missing);
        counts.insert(role.name.as_str(), count);
        total += running + count;
        if missing > count {
            open.push((role.name.as_str(), missing));
        }
    }
    let lacking = gang.min_member.map_or(0, i128::from) - total;
    match open.as_slice() {
        _ if !gang.groups.is_empty() => return None,
        _ if lacking <= 0 => {}
        [(role, missing)] => {
            let count = counts.get_mut(role)?;
            *count = (*count + lacking).min(*missing);
        }
        _ => return None,
    }
    counts.values().any(|count| *count > 0).then_some(counts)
}

/// The most weight that fits in `free`, by trying all counts: of each role what it takes, its weight, its count.
fn heaviest(free: &Amounts, asks: &[(Amounts, i128, i128)]) -> i128 {
    let Some(((takes, weight, count), rest)) = asks.split_first() else { return 0 };
    let fits = |(resource, amount): (&String, &i128)| {
        // `pods` that a node does not list are not limited.
        let free = free.get(resource).copied().unwrap_or(if resource == "pods" { i128::MAX } else { 0 });
        if *amount > 0 { free / amount } else { i128::MAX }
    };
    let most = takes.iter().map(fits).fold(*count, i128::min);
    if rest.is_empty() {
        return weight * most;
    }
    let mut best = 0;
    for number in 0..=most {
        let mut free = free.clone();
        for (resource, amount) in takes {
            if let Some(free) = free.get_mut(resource) {
                *free -= amount * number;
            }
        }
        best = best.max(weight * number + heaviest(&free, rest));
    }
    best
}

/// How many topology keys tell the domains of the required level; none: the level `node`.
fn depth(cluster: &Cluster<'_>, gang: &Gang) -> Option<usize> {
    match gang.topology.as_ref().and_then(|asked| asked.required.as_ref()) {
        None => Some(0),
        Some(level) => cluster.snapshot.topology.iter().position(|key| key == level).map(|index| index + 1),
    }
}

/// All domains of the level that decides.
fn domains(cluster: &Cluster<'_>, gang: &Gang) -> BTreeSet<String> {
    if depth(cluster, gang) == Some(0) {
        return BTreeSet::from([String::new()]);
    }
    cluster.nodes.values().filter_map(|node| domain_of(cluster, gang, node)).collect()
}

/// The domain of a node at the level that decides; none outside the topology.
fn domain_of(cluster: &Cluster<'_>, gang: &Gang, node: &Node) -> Option<String> {
    match depth(cluster, gang) {
        None => Some(node.name.clone()),
        Some(0) => Some(String::new()),
        Some(depth) if is_inside(cluster, node) => {
            let keys = cluster.snapshot.topology[..depth].iter();
            Some(keys.map(|key| node.labels[key].as_str()).collect::<Vec<_>>().join("/"))
        }
        Some(_) => None,
    }
}

fn lies_in(cluster: &Cluster<'_>, gang: &Gang, node: &Node, domain: &str) -> bool {
    domain_of(cluster, gang, node).as_deref() == Some(domain)
}

fn holds_running(cluster: &Cluster<'_>, gang: &Gang, domain: &str) -> bool {
    gang.roles.iter().flat_map(|role| cluster.running(gang, role)).all(|running| {
        cluster.nodes.get(running.node.as_str()).is_some_and(|node| lies_in(cluster, gang, node, domain))
    })
}
