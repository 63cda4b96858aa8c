//! Medians and quantiles.

use std::time::Duration;

/// The value of which `permille` thousandths of `sorted` are not greater (nearest rank); zero of nothing.
pub fn quantile(sorted: &[Duration], permille: usize) -> Duration {
    let rank = (sorted.len() * permille).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// The middle of `values`, the lower one of two; zero of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or_default()
}

/// A count as a number to divide.
pub fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// How often `count` happens in a second, when it took `time`.
pub fn per_second(count: usize, time: Duration) -> f64 {
    number(count) / time.as_secs_f64().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_seen() {
        let all: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        for (permille, want) in [(500, 100), (990, 198), (999, 200), (1000, 200), (0, 1)] {
            assert_eq!(quantile(&all, permille), Duration::from_millis(want));
        }
        assert_eq!(quantile(&[], 500), Duration::ZERO);
    }

    #[test]
    fn a_median_does_not_move_with_one_wild_run() {
        for (values, want) in [
            (vec![3.0, 1.0, 2.0, 900.0, 2.5], 2.5),
            (vec![1.0, 2.0], 1.0),
            (vec![], 0.0),
        ] {
            assert!((median(values) - want).abs() < f64::EPSILON);
        }
    }
}
