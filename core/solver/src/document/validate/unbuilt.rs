//! Parts of the format whose rule is not built yet: a document that uses one is refused, never misread.

use super::Findings;
use crate::document::{Closeness, Fill, Path, Snapshot, SolveOptions};
use crate::error::ProblemCode;

/// Refuses what this build cannot decide yet.
pub(super) fn snapshot(snapshot: &Snapshot, findings: &mut Findings) {
    let mut refuse = |used: bool, path: &Path<'_>| {
        if used {
            findings.report(path, ProblemCode::Unsupported, "is not supported yet");
        }
    };
    let root = Path::Root;
    refuse(!snapshot.quotas.is_empty(), &root.field("quotas"));
    let gangs = root.field("gangs");
    for (index, gang) in snapshot.gangs.iter().enumerate() {
        let path = gangs.item(index);
        let asked = gang.topology.as_ref();
        let levels = path.field("topology");
        refuse(asked.is_some_and(|asked| !asked.slices.is_empty()), &levels.field("slices"));
        refuse(asked.is_some_and(|asked| asked.balanced), &levels.field("balanced"));
        refuse(asked.is_some_and(|asked| !asked.spread.is_empty()), &levels.field("spread"));
        refuse(!gang.groups.is_empty(), &path.field("groups"));
        refuse(!gang.min_groups.is_empty(), &path.field("min_groups"));
        refuse(gang.min_member.is_some(), &path.field("min_member"));
        let roles = path.field("roles");
        for (index, role) in gang.roles.iter().enumerate() {
            let path = roles.item(index);
            refuse(role.min.is_some_and(|min| min != role.replicas), &path.field("min"));
            refuse(!role.preferred_node_affinity.is_empty(), &path.field("preferred_node_affinity"));
            refuse(!role.replica_affinity.is_empty(), &path.field("replica_affinity"));
            refuse(
                role.topology.as_ref().is_some_and(|asked| *asked != Closeness::default()),
                &path.field("topology"),
            );
            refuse(role.ranks.is_some(), &path.field("ranks"));
            refuse(role.single_zone, &path.field("single_zone"));
        }
    }
    let running = root.field("running");
    for (index, holder) in snapshot.running.iter().enumerate() {
        let path = running.item(index);
        refuse(holder.terminating, &path.field("terminating"));
    }
}

/// Refuses what this build cannot do yet.
pub(super) fn options(options: &SolveOptions, findings: &mut Findings) {
    let mut refuse = |used: bool, field: &str| {
        if used {
            findings.report(&Path::Root.field(field), ProblemCode::Unsupported, "is not supported yet");
        }
    };
    refuse(options.placement != Fill::Pack, "placement");
}
