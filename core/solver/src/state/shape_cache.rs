//! How many replicas of a shape each node still takes, kept up by replaying the log of changed nodes.
//!
//! Counting a node costs some divisions; everything that asks "where does this fit?" reads counts, their sums over
//! domains, and masks over chunks of nodes. A cache is right by construction: whatever touches a node writes it into
//! the log, and a cache counts again what the log holds since it last looked.

use crate::model::{Level, Model, NodeId, Shape};

/// Nodes in a chunk: recounting a node rebuilds the mask of its chunk.
pub(crate) const CHUNK: usize = 32;
/// Bits of a mask; the last stands for "so many or more".
pub(crate) const LAST_BIT: u32 = 63;

/// Counts of one shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShapeCache {
    /// By node, at most [`Self::most`].
    counts: Vec<u16>,
    /// By level but `node`, then domain: sums of the counts.
    sums: Vec<Vec<u32>>,
    /// By chunk: bit `c` is set where some node has exactly `c`, the last bit where it has more.
    masks: Vec<u64>,
    /// The same by chunk of chunks.
    wide: Vec<u64>,
    /// By chunk of domains of the finest key: bit `b` is set where the sum of some domain is in band `b`.
    bands: Vec<u64>,
    most: u16,
}

impl ShapeCache {
    /// Counts every node.
    pub(super) fn count_all(model: &Model, shape: &Shape, free: &[i64]) -> Self {
        let nodes = model.nodes.len();
        let mut cache = Self {
            counts: vec![0; nodes],
            sums: model.topology.sizes().map(|domains| vec![0; domains]).collect(),
            masks: vec![0; nodes.div_ceil(CHUNK)],
            wide: vec![0; nodes.div_ceil(CHUNK).div_ceil(CHUNK)],
            bands: Vec::new(),
            most: most_countable(nodes),
        };
        let counter = Counter::new(model, shape, cache.most);
        for (node, row) in free.chunks_exact(model.resources.len()).enumerate() {
            cache.counts[node] = counter.count(node, row);
        }
        for (level, sums) in cache.sums.iter_mut().enumerate() {
            for (domain, sum) in model.topology.domains(Level::at(level)).iter().zip(sums) {
                *sum = cache.counts[domain.nodes.clone()].iter().map(|count| u32::from(*count)).sum();
            }
        }
        for (mask, counts) in cache.masks.iter_mut().zip(cache.counts.chunks(CHUNK)) {
            *mask = mask_of(counts);
        }
        for (wide, masks) in cache.wide.iter_mut().zip(cache.masks.chunks(CHUNK)) {
            *wide = masks.iter().fold(0, |wide, mask| wide | mask);
        }
        if let Some(finest) = cache.sums.last() {
            cache.bands = finest.chunks(CHUNK).map(bands_of).collect();
        }
        cache
    }

    /// Counts these nodes again. Nodes that changed together mostly lie together: masks are built anew once for each
    /// run of nodes of one chunk.
    pub(super) fn recount(&mut self, model: &Model, shape: &Shape, free: &[i64], changed: &[u32]) {
        let counter = Counter::new(model, shape, self.most);
        let resources = model.resources.len();
        let finest = self.sums.len() - 1;
        let (mut stale_mask, mut stale_bands) = (None, None);
        for node in changed {
            let node = *node as usize;
            let (before, now) =
                (self.counts[node], counter.count(node, &free[node * resources..(node + 1) * resources]));
            if before == now {
                continue;
            }
            self.counts[node] = now;
            let change = u32::from(now).wrapping_sub(u32::from(before));
            for (level, sums) in self.sums.iter_mut().enumerate() {
                let Some(domain) = model.topology.home(Level::at(level), NodeId::new(node)) else { continue };
                sums[domain] = sums[domain].wrapping_add(change);
                if level == finest
                    && let Some(stale) =
                        stale_bands.replace(domain / CHUNK).filter(|at| *at != domain / CHUNK)
                {
                    self.bands[stale] = bands_of(chunk(sums, stale));
                }
            }
            if let Some(stale) = stale_mask.replace(node / CHUNK).filter(|stale| *stale != node / CHUNK) {
                self.mask_anew(stale);
            }
        }
        if let Some(stale) = stale_mask {
            self.mask_anew(stale);
        }
        if let Some(stale) = stale_bands {
            self.bands[stale] = bands_of(chunk(&self.sums[finest], stale));
        }
    }

    fn mask_anew(&mut self, at: usize) {
        let mask = mask_of(chunk(&self.counts, at));
        if std::mem::replace(&mut self.masks[at], mask) != mask {
            let many = at / CHUNK;
            self.wide[many] = chunk(&self.masks, many).iter().fold(0, |wide, mask| wide | mask);
        }
    }

    /// By node, how many fit.
    pub(crate) fn counts(&self) -> &[u16] {
        &self.counts
    }

    /// By domain of a level, but not `node`, how many fit in sum.
    pub(crate) fn sums(&self, level: Level) -> &[u32] {
        &self.sums[level.index()]
    }

    /// By chunk of as many chunks, all their masks.
    pub(crate) fn wide(&self) -> &[u64] {
        &self.wide
    }

    /// By chunk of nodes; see [`at_least`].
    pub(crate) fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// By chunk of domains of the finest key; see [`band`].
    pub(crate) fn bands(&self) -> &[u64] {
        &self.bands
    }
}

/// The band of a sum: each of its own up to 15, then four to an octave; a larger sum is never in a lower band.
pub(crate) fn band(sum: u32) -> u32 {
    if sum < 16 {
        return sum;
    }
    let octave = sum.ilog2();
    (16 + (octave - 4) * 4 + ((sum >> (octave - 2)) & 3)).min(LAST_BIT)
}

/// The bands that hold sums of `sum` or more, and smaller ones of its own band.
pub(crate) fn bands_from(sum: u32) -> u64 {
    u64::MAX << band(sum)
}

/// The bits of a mask that stand for counts of `count` or more; with the last bit look at the counts.
pub(crate) fn at_least(count: u16) -> u64 {
    u64::MAX << u32::from(count).min(LAST_BIT)
}

/// Counts stop here, so that sums over all nodes fit 32 bits. A role of more replicas does not ask the caches.
pub(crate) fn most_countable(nodes: usize) -> u16 {
    let most = (u32::MAX as usize / nodes.max(1)).min(usize::from(u16::MAX));
    u16::try_from(most).unwrap_or(u16::MAX)
}

fn chunk<T>(all: &[T], at: usize) -> &[T] {
    &all[at * CHUNK..all.len().min((at + 1) * CHUNK)]
}

fn mask_of(counts: &[u16]) -> u64 {
    counts.iter().fold(0, |mask, count| mask | 1 << u32::from(*count).min(LAST_BIT))
}

fn bands_of(sums: &[u32]) -> u64 {
    sums.iter().fold(0, |bands, sum| bands | 1 << band(*sum))
}

/// A shape made ready to be counted: only what it asks for.
struct Counter<'m> {
    asks: Vec<(usize, i64)>,
    verdicts: &'m [Option<crate::document::Rule>],
    end: usize,
    most: u16,
}

impl<'m> Counter<'m> {
    fn new(model: &'m Model, shape: &Shape, most: u16) -> Self {
        let request = shape.request.as_slice().iter().copied().enumerate();
        Self {
            asks: request.filter(|(_, amount)| *amount > 0).collect(),
            verdicts: &model.classes[shape.class.index()],
            end: if shape.inside_topology { model.topology.inside() } else { model.nodes.len() },
            most,
        }
    }

    /// As [`ResourceVec::most_in`](crate::model::ResourceVec::most_in) on nodes that the class may use.
    fn count(&self, node: usize, free: &[i64]) -> u16 {
        if node >= self.end || self.verdicts[node].is_some() || free.iter().any(|amount| *amount < 0) {
            return 0;
        }
        let mut most = i64::from(self.most);
        for (resource, amount) in &self.asks {
            // Most often there is enough for `most`, or for none: no division then.
            let free = free[*resource];
            if free < *amount {
                return 0;
            }
            most = most.min(divide(free, *amount));
        }
        u16::try_from(most).unwrap_or(self.most)
    }
}

/// Division of amounts that are not negative; in 32 bits, where they fit, it is much faster.
fn divide(free: i64, amount: i64) -> i64 {
    match (u32::try_from(free), u32::try_from(amount)) {
        (Ok(free), Ok(amount)) => i64::from(free / amount),
        _ => free / amount,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_sum_is_never_in_a_lower_band_and_all_sums_from_a_count_on_are_in_its_bands() {
        let sums = (0..5000).chain((13..32).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]));
        let sums: Vec<u32> = sums.chain([u32::MAX]).collect();
        for pair in sums.windows(2) {
            assert!(band(pair[0]) <= band(pair[1]), "{pair:?}");
            assert_ne!(bands_from(pair[0]) & 1 << band(pair[1]), 0, "{pair:?}");
        }
        assert!((0..16).all(|sum| band(sum) == sum));
    }
}
