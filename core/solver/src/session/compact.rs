//! Leaves out the rows that a session has emptied.

use super::columns::{Columns, NONE};

/// Drops removed gangs with their roles, and pods that are gone; what refers to later rows follows.
pub(super) fn compact(columns: &mut Columns) {
    let mut gangs = vec![false; columns.gangs.names.len()];
    for gang in columns.roles.gangs.iter().filter(|gang| **gang != NONE) {
        gangs[*gang as usize] = true;
    }
    let roles: Vec<bool> = columns.roles.gangs.iter().map(|gang| *gang != NONE).collect();
    let pods: Vec<bool> = columns.pods.nodes.iter().map(|node| *node != NONE).collect();

    let rows = &mut columns.gangs;
    keep(&mut rows.names, &gangs);
    keep(&mut rows.queues, &gangs);
    keep(&mut rows.priorities, &gangs);
    keep(&mut rows.created, &gangs);
    keep(&mut rows.required, &gangs);
    keep(&mut rows.preferred, &gangs);
    keep(&mut rows.min_members, &gangs);
    keep(&mut rows.preemptible, &gangs);
    keep(&mut rows.runtimes_s, &gangs);
    keep(&mut rows.bypassed, &gangs);

    let rows = &mut columns.roles;
    keep(&mut rows.gangs, &roles);
    keep(&mut rows.names, &roles);
    keep(&mut rows.replicas, &roles);
    keep(&mut rows.needs, &roles);
    keep(&mut rows.mins, &roles);
    keep(&mut rows.priorities, &roles);
    rows.requests.iter_mut().for_each(|column| keep(column, &roles));
    follow(&mut rows.gangs, &gangs);
    follow(&mut columns.running.roles, &roles);

    let rows = &mut columns.pods;
    keep(&mut rows.names, &pods);
    keep(&mut rows.nodes, &pods);
    keep(&mut rows.queues, &pods);
    rows.requests.iter_mut().for_each(|column| keep(column, &pods));
}

/// Keeps the marked rows of a column, which may be empty.
fn keep<T>(column: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    column.retain(|_| marks.next().copied().unwrap_or(true));
}

/// Positions of marked rows, once the others are dropped.
fn follow(positions: &mut [u32], marks: &[bool]) {
    let mut next = 0;
    let moved: Vec<u32> = marks
        .iter()
        .map(|kept| {
            next += u32::from(*kept);
            next.saturating_sub(1)
        })
        .collect();
    for position in positions {
        *position = moved[*position as usize];
    }
}
