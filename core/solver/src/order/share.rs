//! Sharing an amount out by weight: max-min fairness with demands, exactly.

use super::ratio::Ratio;

/// Who asks for a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    /// It gets no more than this.
    pub(crate) wants: i128,
    /// Relative to the others; 0 has no claim.
    pub(crate) weight: i64,
}

/// Shares `total` out in proportion to the weights; what one does not want goes to the others the same way
/// (progressive filling: all rise together, by weight, each until it has what it wants).
pub(crate) fn share_out(total: Ratio, claims: &[Claim]) -> Vec<Ratio> {
    let mut shares = vec![Ratio::ZERO; claims.len()];
    let mut rising: Vec<usize> = (0..claims.len()).filter(|index| claims[*index].weight > 0).collect();
    // In the order in which they are content as the level rises.
    rising.sort_by_key(|index| (Ratio::new(claims[*index].wants, i128::from(claims[*index].weight)), *index));
    let mut left = total;
    let mut weights: i128 = rising.iter().map(|index| i128::from(claims[*index].weight)).sum();
    for (position, index) in rising.iter().enumerate() {
        let Claim { wants, weight } = claims[*index];
        let weight = i128::from(weight);
        if Ratio::whole(wants) > left.scaled(weight, weights) {
            for index in &rising[position..] {
                shares[*index] = left.scaled(i128::from(claims[*index].weight), weights);
            }
            break;
        }
        shares[*index] = Ratio::whole(wants);
        left = left.less(wants);
        weights -= weight;
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claims() -> impl Strategy<Value = Vec<Claim>> {
        let claim = (0_i128..40, 0_i64..5).prop_map(|(wants, weight)| Claim { wants, weight });
        proptest::collection::vec(claim, 1..7)
    }

    proptest! {
        /// Max-min fair: nobody above its demand, nothing left over while someone wants more, and who is content
        /// has no more for its weight than who is not.
        #[test]
        fn shares_are_max_min_fair(total in 0_i128..120, claims in claims()) {
            let shares = share_out(Ratio::whole(total), &claims);
            let mut left = Ratio::whole(total);
            let hungry: Vec<usize> = (0..claims.len())
                .filter(|index| claims[*index].weight > 0 && shares[*index] < Ratio::whole(claims[*index].wants))
                .collect();
            for (share, claim) in shares.iter().zip(&claims) {
                prop_assert!(*share <= Ratio::whole(claim.wants));
                prop_assert!(claim.weight > 0 || *share == Ratio::ZERO);
            }
            for index in &hungry {
                let level = shares[*index].scaled(1, i128::from(claims[*index].weight));
                for (share, claim) in shares.iter().zip(&claims).filter(|(_, claim)| claim.weight > 0) {
                    prop_assert!(share.scaled(1, i128::from(claim.weight)) <= level);
                }
            }
            for share in &shares {
                left = minus(left, *share);
            }
            let given_out = left == Ratio::ZERO;
            prop_assert!(hungry.is_empty() || given_out, "{shares:?}");
        }
    }

    /// The difference of two fractions with small denominators.
    fn minus(from: Ratio, taken: Ratio) -> Ratio {
        let parts = |ratio: Ratio| {
            let is_whole = |factor: &i128| {
                let scaled = ratio.scaled(*factor, 1);
                scaled == Ratio::whole(floor(scaled))
            };
            let denominator = (1..100_000).find(is_whole).unwrap();
            (floor(ratio.scaled(denominator, 1)), denominator)
        };
        let (from, taken) = (parts(from), parts(taken));
        Ratio::new(from.0 * taken.1 - taken.0 * from.1, from.1 * taken.1)
    }

    fn floor(ratio: Ratio) -> i128 {
        let mut whole = 0;
        while Ratio::whole(whole + 1) <= ratio {
            whole += 1;
        }
        whole
    }

    #[test]
    fn three_queues_of_which_one_is_content() {
        let claim = |wants, weight| Claim { wants, weight };
        let shares = share_out(Ratio::whole(10), &[claim(1, 1), claim(9, 1), claim(9, 2)]);
        assert_eq!(shares, [Ratio::whole(1), Ratio::whole(3), Ratio::whole(6)]);
    }
}
