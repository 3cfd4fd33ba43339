//! What a replica counts for, by the rule of Kubernetes (KEP-753 for sidecars), seen in what a refusal says it needs.
// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod clusters;

use clusters::{gang, node, plan_for, role};
use gangplan_solver::document::{Container, Pod, Snapshot};

fn container(requests: &[(&str, u8)], limits: &[(&str, u8)]) -> Container {
    Container { requests: clusters::amounts(requests), limits: clusters::amounts(limits), sidecar: false }
}

fn sidecar(cpu: u8) -> Container {
    Container { sidecar: true, ..container(&[("cpu", cpu)], &[]) }
}

fn plain(cpu: u8) -> Container {
    container(&[("cpu", cpu)], &[])
}

/// How much of `resource` one such pod needs, as the refusal of a cluster with none of it says.
fn needs(pod: Pod, resource: &str) -> String {
    let mut role = role("worker", 1, &[]);
    role.pod = Some(pod);
    let room: Vec<(&str, u8)> =
        ["cpu", "gpu", "pods"].into_iter().filter(|name| *name != resource).map(|name| (name, 255)).collect();
    let mut node = node("n", &room);
    node.allocatable.insert(resource.to_owned(), "0".to_owned());
    let snapshot = Snapshot { nodes: vec![node], gangs: vec![gang("g", vec![role])], ..Snapshot::default() };
    let plan = plan_for(&snapshot);
    let rejection = &plan.rejections["g"];
    assert_eq!(
        (rejection.rule.as_str(), rejection.resource.as_deref()),
        ("CAPACITY_INSUFFICIENT", Some(resource))
    );
    rejection.needs.clone().unwrap()
}

fn pod(containers: Vec<Container>, init_containers: Vec<Container>) -> Pod {
    Pod { containers, init_containers, overhead: clusters::amounts(&[]) }
}

#[test]
fn init_containers_and_sidecars_count_as_in_kubernetes() {
    let table = [
        ("containers add up", pod(vec![plain(1), plain(2)], vec![]), "3"),
        ("a small init container hides", pod(vec![plain(4)], vec![plain(3)]), "4"),
        ("a large init container binds", pod(vec![plain(4)], vec![plain(9)]), "9"),
        ("init containers run one by one", pod(vec![plain(1)], vec![plain(3), plain(5), plain(4)]), "5"),
        ("a sidecar runs beside the containers", pod(vec![plain(4)], vec![sidecar(2)]), "6"),
        (
            "an init container runs beside sidecars before it",
            pod(vec![plain(1)], vec![sidecar(2), plain(5)]),
            "7",
        ),
        ("and not beside those after it", pod(vec![plain(1)], vec![plain(5), sidecar(2)]), "5"),
        (
            "sidecars add up in order",
            pod(vec![plain(1)], vec![sidecar(1), plain(4), sidecar(2), plain(3)]),
            "6",
        ),
    ];
    for (what, pod, cpu) in table {
        assert_eq!(needs(pod, "cpu"), cpu, "{what}");
    }
}

#[test]
fn a_limit_without_a_request_is_a_request() {
    let limited = container(&[("cpu", 1)], &[("cpu", 8), ("gpu", 2)]);
    assert_eq!(needs(pod(vec![limited.clone()], vec![]), "cpu"), "1");
    assert_eq!(needs(pod(vec![limited], vec![]), "gpu"), "2");
}

#[test]
fn overhead_is_added_to_the_larger_of_both() {
    let mut with_overhead = pod(vec![plain(2)], vec![plain(5)]);
    with_overhead.overhead = clusters::amounts(&[("cpu", 1)]);
    assert_eq!(needs(with_overhead, "cpu"), "6");
}

#[test]
fn every_replica_counts_as_one_of_pods() {
    assert_eq!(needs(pod(vec![plain(1), plain(1)], vec![sidecar(1)]), "pods"), "1");
}

#[test]
fn a_replica_that_asks_for_nothing_still_takes_a_place() {
    let snapshot = Snapshot {
        nodes: vec![node("n", &[("pods", 2)])],
        gangs: vec![gang("g", vec![role("worker", 3, &[])])],
        ..Snapshot::default()
    };
    let plan = plan_for(&snapshot);
    assert_eq!(plan.rejections["g"].message, "needs 3 pods; the nodes that it may use have 2 in all");
}
