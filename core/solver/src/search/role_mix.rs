//! Alternating re-assignment: one role after the other is placed anew, given where the others are.
//!
//! With the other roles fixed, the gain of a replica on a node is linear, so that a role which does not talk with
//! itself is re-placed exactly by taking nodes in the order of their gain. A role that does is filled node by node.

use std::cmp::Reverse;

use super::asks::Asks;
use super::mix::Mix;

/// Rounds over all roles; most mixes stand still after two.
const ROUNDS: usize = 12;
/// So many looks at a node may improve one mix.
const MOST_LOOKS: usize = 60_000;
/// The same where all pairs of replicas talk alike: then it matters only how many lie together, whatever their roles,
/// and the start has seen to that.
const FEW_LOOKS: usize = 2_000;
/// With more occupied pairs of node and role than this, exchanges are not tried: their number is the square of it.
const FEW_SPOTS: usize = 24;

/// A mix with traffic as low or lower.
pub(super) fn improve(mix: &mut Mix<'_>, asks: &Asks<'_>) {
    let mut cost = mix.cost();
    let most = mix.looked + if mix.talks_alike() { FEW_LOOKS } else { MOST_LOOKS };
    for _ in 0..ROUNDS {
        let before = cost;
        for ask in 0..asks.roles.len() {
            let looks = mix.nodes().len() * usize::from(asks.roles[ask].count).min(mix.nodes().len());
            if cost == 0 || mix.looked + looks > most {
                continue;
            }
            let saved = mix.save();
            take_away(mix, ask);
            place_by_gain(mix, asks, ask);
            let moved = mix.cost();
            if mix.missing(ask) == 0 && moved < cost {
                cost = moved;
            } else {
                mix.restore(&saved);
            }
        }
        cost += exchange(mix, asks, most);
        if cost == before {
            break;
        }
    }
}

fn take_away(mix: &mut Mix<'_>, ask: usize) {
    for node in 0..mix.nodes().len() {
        mix.put(node, ask, -mix.count(node, ask));
    }
}

/// Places what is missing of a role where it gains most; on equal terms where most of it fits.
pub(super) fn place_by_gain(mix: &mut Mix<'_>, asks: &Asks<'_>, ask: usize) {
    let role = asks.roles[ask].role;
    let own = i128::from(mix.weight(role, role));
    let mut gains = mix.gains(role);
    let levels = i128::try_from(gains.len()).unwrap_or(i128::MAX);
    let mut left = mix.missing(ask);
    let mut rooms: Vec<(usize, i64)> = (0..mix.nodes().len())
        .map(|node| (node, mix.room(node, ask)))
        .filter(|(_, room)| *room > 0)
        .collect();
    mix.looked += mix.nodes().len();
    while left > 0 {
        mix.looked += rooms.len();
        let best = rooms.iter().enumerate().max_by_key(|(at, (node, room))| {
            let count = (*room).min(left);
            let gain: i128 = mix.groups(*node).zip(&gains).map(|(group, gains)| gains[group]).sum();
            // Twice the gain for each replica, those among themselves included.
            (2 * gain + own * i128::from(count - 1) * levels, count, Reverse(*at))
        });
        let Some((at, &(node, room))) = best else { return };
        let count = room.min(left);
        mix.put(node, ask, count);
        left -= count;
        rooms.remove(at);
        if own != 0 {
            for (group, gains) in mix.groups(node).zip(&mut gains) {
                gains[group] += own * i128::from(count);
            }
        }
    }
}

/// The best exchange of one replica for one of another role on another node, if it costs less; how the cost changes.
/// Roles block each other on full nodes, where none of them can move alone.
fn exchange(mix: &mut Mix<'_>, asks: &Asks<'_>, most: usize) -> i128 {
    let roles = asks.roles.len();
    let spots: Vec<(usize, usize)> = (0..mix.nodes().len())
        .flat_map(|node| (0..roles).map(move |ask| (node, ask)))
        .filter(|(node, ask)| mix.count(*node, *ask) > 0)
        .collect();
    if roles < 2 || spots.len() > FEW_SPOTS || mix.looked > most {
        return 0;
    }
    let mut best = (0, None);
    for (index, (a, one)) in spots.iter().copied().enumerate() {
        for (b, other) in spots[..index].iter().copied() {
            if one == other || a == b || !mix.may_host(b, one) || !mix.may_host(a, other) {
                continue;
            }
            mix.looked += 1;
            let change = mix.exchange_cost(asks.roles[one].role, a, asks.roles[other].role, b);
            if change < best.0 && swaps(mix, (a, one), (b, other)) {
                best = (change, Some(((a, one), (b, other))));
                swap(mix, (b, one), (a, other));
            }
        }
    }
    if let Some(((a, one), (b, other))) = best.1 {
        swap(mix, (a, one), (b, other));
    }
    best.0
}

/// Exchanges two replicas, if they fit; if not nothing is changed.
fn swaps(mix: &mut Mix<'_>, (a, one): (usize, usize), (b, other): (usize, usize)) -> bool {
    mix.put(a, one, -1);
    mix.put(b, other, -1);
    let fits = mix.room(b, one) > 0 && mix.room(a, other) > 0;
    let (to_one, to_other) = if fits { (b, a) } else { (a, b) };
    mix.put(to_one, one, 1);
    mix.put(to_other, other, 1);
    fits
}

fn swap(mix: &mut Mix<'_>, (a, one): (usize, usize), (b, other): (usize, usize)) {
    mix.put(a, one, -1);
    mix.put(b, other, -1);
    mix.put(b, one, 1);
    mix.put(a, other, 1);
}
