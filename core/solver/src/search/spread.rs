//! One role alone in one domain: over the fewest domains of each level on the way down, the last of them the tightest.

use std::cmp::Reverse;
use std::ops::Range;

use crate::model::{Level, Model, NodeId};
use crate::state::ShapeCache;

/// So many of the largest are sorted at first; nearly always they suffice.
const FEW: usize = 32;

/// A node and how many replicas go there.
pub(super) type Share = (NodeId, u16);

/// Spreads `count` replicas in a domain with room for them; how many nodes were looked at.
pub(super) fn spread(
    model: &Model,
    cache: &ShapeCache,
    level: Level,
    domain: usize,
    count: u32,
    shares: &mut Vec<Share>,
) -> usize {
    let topology = &model.topology;
    let nodes = topology.domains(level)[domain].nodes.clone();
    if !topology.parts_into_domains(level) {
        return spread_over_nodes(cache, nodes, count, shares);
    }
    let children = topology.children(level, &topology.domains(level)[domain]);
    let sums = cache.sums(level.finer());
    let mut rooms: Vec<Room> = children.clone().map(|child| Room { room: sums[child], at: child }).collect();
    // Nodes outside the topology stand beside the domains, as if together they were one more.
    let outside = nodes.start.max(topology.inside())..nodes.end;
    let beside = outside.clone().map(|node| u32::from(cache.counts()[node])).sum();
    rooms.push(Room { room: beside, at: usize::MAX });
    let mut looked = outside.len();
    choose(&mut rooms, count, |at, count| {
        looked += if at == usize::MAX {
            spread_over_nodes(cache, outside.clone(), count, shares)
        } else {
            spread(model, cache, level.finer(), at, count, shares)
        };
    });
    looked
}

fn spread_over_nodes(cache: &ShapeCache, nodes: Range<usize>, count: u32, shares: &mut Vec<Share>) -> usize {
    let counts = &cache.counts()[nodes.clone()];
    let rooms = counts.iter().zip(nodes.clone());
    let mut rooms: Vec<Room> =
        rooms.filter(|(room, _)| **room > 0).map(|(room, at)| Room { room: u32::from(*room), at }).collect();
    choose(&mut rooms, count, |at, count| {
        shares.push((NodeId::new(at), u16::try_from(count).expect("at most what a node has room for")));
    });
    nodes.len()
}

/// Room at a position.
#[derive(Clone, Copy)]
struct Room {
    room: u32,
    at: usize,
}

/// Takes the largest rooms until what is left fits in one; then the tightest of the others that holds it.
fn choose(rooms: &mut [Room], count: u32, mut take: impl FnMut(usize, u32)) {
    let key = |room: &Room| (Reverse(room.room), room.at);
    let mut sorted = 0;
    let mut left = count;
    let mut next = 0;
    while left > 0 && next < rooms.len() {
        if next == sorted {
            sorted = if sorted == 0 { FEW } else { sorted * 4 };
            if sorted < rooms.len() {
                rooms[next..].select_nth_unstable_by_key(sorted - next - 1, key);
            }
            sorted = sorted.min(rooms.len());
            rooms[next..sorted].sort_unstable_by_key(key);
        }
        if rooms[next].room < left {
            left -= rooms[next].room;
            if rooms[next].room > 0 {
                take(rooms[next].at, rooms[next].room);
            }
            next += 1;
            continue;
        }
        let fitting = rooms[next..].iter().filter(|room| room.room >= left);
        let tightest = fitting.min_by_key(|room| (room.room, room.at)).copied();
        take(tightest.expect("the next one fits").at, left);
        return;
    }
    debug_assert!(left == 0, "the domain has room for all");
}
