//! Which domain of a level first: read off the sums of the shape caches.

use super::asks::Asks;
use crate::constraint::topology as placed;
use crate::model::{Level, NodeId};
use crate::state::{CHUNK, LAST_BIT, Ledger, ShapeCache, at_least, band, bands_from};

/// Of more domains than this only the tightest are compared by how far the gang would spread in them.
const MOST_SPANS: usize = 64;

/// The domains of a level, but not `node`, in which every role finds enough room alone: first those where the scarcest
/// role can lie in the fewest domains of the next level, then those where the least of its room would be left; domains
/// of nodes are compared by the [`band`] of their room only.
pub(super) fn in_order(ledger: &Ledger<'_>, asks: &Asks<'_>, level: Level) -> Vec<usize> {
    let topology = &ledger.model().topology;
    if let Some(anchor) = asks.anchor {
        let home = topology.home(level, anchor).filter(|home| {
            placed::holds_running(asks.demand, &topology.domains(level)[*home])
                && asks.may_fit(ledger, level, *home)
        });
        return home.into_iter().collect();
    }
    let sums = asks.scarcest(ledger).sums(level);
    let mut fitting: Vec<usize> =
        (0..sums.len()).filter(|domain| asks.may_fit(ledger, level, *domain)).collect();
    let parts = topology.parts_into_domains(level);
    // Stable: among equals the canonical order stays.
    fitting.sort_by_key(|domain| if parts { sums[*domain] } else { band(sums[*domain]) });
    if fitting.len() > 1 && parts {
        let looked = fitting.len().min(MOST_SPANS);
        fitting[..looked].sort_by_cached_key(|domain| span(ledger, asks, level, *domain));
    }
    fitting
}

/// The first of [`in_order`], found faster where there are many domains.
pub(super) fn first(ledger: &Ledger<'_>, asks: &Asks<'_>, level: Level) -> Option<usize> {
    if asks.anchor.is_some() || ledger.model().topology.parts_into_domains(level) {
        return in_order(ledger, asks, level).first().copied();
    }
    let roles: Vec<(&ShapeCache, u64)> =
        asks.roles.iter().map(|ask| (ledger.shape(ask.shape), bands_from(u32::from(ask.count)))).collect();
    // Only where each role finds a domain with room for all of it.
    let may_fit = |chunk: &usize| roles.iter().all(|(cache, wanted)| cache.bands()[*chunk] & wanted != 0);
    let (scarcest, wanted) = roles[0];
    let near: Vec<usize> = (0..scarcest.bands().len()).filter(may_fit).collect();
    let mut rooms = near.iter().fold(0, |rooms, chunk| rooms | scarcest.bands()[*chunk]) & wanted;
    let sums = scarcest.sums(level);
    let needs: Vec<(&[u32], u32)> =
        asks.roles.iter().map(|ask| (ledger.shape(ask.shape).sums(level), u32::from(ask.count))).collect();
    while rooms != 0 {
        let room_band = rooms.trailing_zeros();
        rooms &= rooms - 1;
        let near = near.iter().filter(|chunk| scarcest.bands()[**chunk] >> room_band & 1 == 1);
        let mut domains = near.flat_map(|chunk| chunk * CHUNK..sums.len().min((chunk + 1) * CHUNK));
        let found = domains.find(|domain| {
            band(sums[*domain]) == room_band
                && needs.iter().all(|(sums, count)| sums[*domain] >= *count)
                && asks.may_hold(ledger, level, *domain)
        });
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The least number of domains of the next level that hold the scarcest role.
fn span(ledger: &Ledger<'_>, asks: &Asks<'_>, level: Level, domain: usize) -> usize {
    let topology = &ledger.model().topology;
    let children = topology.children(level, &topology.domains(level)[domain]);
    let mut rooms = asks.scarcest(ledger).sums(level.finer())[children].to_vec();
    rooms.sort_unstable_by_key(|room| std::cmp::Reverse(*room));
    let mut left = u32::from(asks.roles[0].count);
    let last = rooms.iter().position(|room| {
        left = left.saturating_sub(*room);
        left == 0
    });
    last.map_or(usize::MAX, |last| last + 1)
}

/// The node that takes the whole gang and has the least room for the scarcest role, and how many nodes were looked at;
/// none once `most` were.
pub(super) fn node(ledger: &Ledger<'_>, asks: &Asks<'_>, most: usize) -> (Option<NodeId>, usize) {
    if let Some(anchor) = asks.anchor {
        let only = asks.demand.running.iter().flatten().all(|node| *node == anchor);
        return ((only && asks.fits_whole(ledger, anchor)).then_some(anchor), 1);
    }
    let roles: Vec<(&ShapeCache, u64)> =
        asks.roles.iter().map(|ask| (ledger.shape(ask.shape), at_least(ask.whole))).collect();
    // Only where each role finds a node with room for all of it.
    let may_fit = |chunk: usize| roles.iter().all(|(cache, wanted)| cache.masks()[chunk] & wanted != 0);
    let may_fit_near = |many: usize| roles.iter().all(|(cache, wanted)| cache.wide()[many] & wanted != 0);
    let (scarcest, wanted) = roles[0];
    let near: Vec<usize> = (0..scarcest.wide().len()).filter(|many| may_fit_near(*many)).collect();
    let mut rooms = near.iter().fold(0, |rooms, many| rooms | scarcest.wide()[*many]) & wanted;
    let counts = scarcest.counts();
    let mut looked = 0;
    while rooms != 0 {
        let bit = rooms.trailing_zeros();
        rooms &= rooms - 1;
        // Counts that share the last bit differ: of them the least is the best.
        let mut best: Option<(u16, usize)> = None;
        let has_room = |masks: &[u64], at: usize| masks[at] >> bit & 1 == 1;
        let near = near.iter().filter(|many| has_room(scarcest.wide(), **many));
        let chunks = near.flat_map(|many| many * CHUNK..scarcest.masks().len().min((many + 1) * CHUNK));
        for chunk in chunks.filter(|chunk| has_room(scarcest.masks(), *chunk) && may_fit(*chunk)) {
            let of_chunk = counts.iter().copied().enumerate().skip(chunk * CHUNK).take(CHUNK);
            for (node, count) in of_chunk.filter(|(_, count)| u32::from(*count).min(LAST_BIT) == bit) {
                if looked == most {
                    return (None, looked);
                }
                looked += 1;
                let better = best.is_none_or(|(least, _)| count < least);
                if better && asks.fits_whole(ledger, NodeId::new(node)) {
                    if bit < LAST_BIT {
                        return (Some(NodeId::new(node)), looked);
                    }
                    best = Some((count, node));
                }
            }
        }
        if let Some((_, node)) = best {
            return (Some(NodeId::new(node)), looked);
        }
    }
    (None, looked)
}
