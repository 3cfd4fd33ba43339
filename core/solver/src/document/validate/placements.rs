//! Placements: what they name is there, and no role has more places than replicas.

use std::collections::{BTreeMap, BTreeSet};

use super::Findings;
use crate::document::{Gang, Path, Placements, Snapshot};
use crate::error::ProblemCode;

/// Judges placements of the gangs of a sound snapshot.
pub(in crate::document) fn placements(snapshot: &Snapshot, placements: &Placements, findings: &mut Findings) {
    let nodes: BTreeSet<&str> = snapshot.nodes.iter().map(|node| node.name.as_str()).collect();
    let gangs: BTreeMap<&str, &Gang> = snapshot.gangs.iter().map(|gang| (gang.name.as_str(), gang)).collect();
    let names: BTreeSet<&str> = gangs.keys().copied().collect();
    let root = Path::Root.field("placements");
    for (name, roles) in placements {
        let path = root.field(name);
        findings.reference(name, &names, "gang", &path);
        let Some(gang) = gangs.get(name.as_str()) else { continue };
        let known: BTreeMap<&str, i64> =
            gang.roles.iter().map(|role| (role.name.as_str(), role.replicas)).collect();
        let names: BTreeSet<&str> = known.keys().copied().collect();
        for (role, places) in roles {
            let path = path.field(role);
            findings.reference(role, &names, "role", &path);
            for (index, node) in places.iter().enumerate() {
                findings.reference(node, &nodes, "node", &path.item(index));
            }
            let replicas = known.get(role.as_str()).copied();
            if let Some(replicas) = replicas.filter(|replicas| places.len() as i128 > i128::from(*replicas)) {
                let message =
                    format!("must be at most {replicas}, the replicas of the role, not {}", places.len());
                findings.report(&path, ProblemCode::OutOfRange, message);
            }
        }
    }
}
