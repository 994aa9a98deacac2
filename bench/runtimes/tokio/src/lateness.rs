//! How late timers fired: percentiles, and a histogram for plots.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

use tokio::time::Instant;

use crate::print_figure;

/// Returns the time since the deadline; negative before it.
pub fn lateness_ns(deadline: Instant) -> i64 {
    let now = Instant::now();
    if now >= deadline {
        (now - deadline).as_nanos() as i64
    } else {
        -((deadline - now).as_nanos() as i64)
    }
}

/// Returns the bound nearest to zero of the bucket of a lateness. Below 16 each microsecond is a
/// bucket; above, each power of two has sixteen.
fn bucket_us(lateness_ns: i64) -> i64 {
    let magnitude_us = lateness_ns.unsigned_abs() / 1000;
    let power = 63 - (magnitude_us | 1).leading_zeros();
    let bound_us = if power < 4 {
        magnitude_us
    } else {
        magnitude_us >> (power - 4) << (power - 4)
    };
    lateness_ns.signum() * bound_us as i64
}

fn percentile_ms(sorted_ns: &[i64], share: f64) -> f64 {
    let place = (share * sorted_ns.len() as f64).ceil() as usize;
    sorted_ns[place.clamp(1, sorted_ns.len()) - 1] as f64 / 1e6
}

/// Prints the figures. Sorts the slice.
pub fn print_figures(lateness_ns: &mut [i64]) {
    lateness_ns.sort_unstable();
    let early = lateness_ns.partition_point(|&lateness| lateness < 0);
    print_figure("fired", lateness_ns.len() as f64);
    print_figure("early", early as f64);
    print_figure("earliest_ms", percentile_ms(lateness_ns, 0.0));
    print_figure("p50_ms", percentile_ms(lateness_ns, 0.5));
    print_figure("p90_ms", percentile_ms(lateness_ns, 0.9));
    print_figure("p99_ms", percentile_ms(lateness_ns, 0.99));
    print_figure("p999_ms", percentile_ms(lateness_ns, 0.999));
    print_figure("latest_ms", percentile_ms(lateness_ns, 1.0));
}

pub fn write_histogram(path: &Path, lateness_ns: &[i64]) -> Result<()> {
    let mut counts = BTreeMap::new();
    for &lateness in lateness_ns {
        *counts.entry(bucket_us(lateness)).or_insert(0u64) += 1;
    }
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "lateness_us,count")?;
    for (bucket_us, count) in counts {
        writeln!(file, "{bucket_us},{count}")?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::bucket_us;

    #[test]
    fn buckets_are_exact_below_16_us_and_sixteen_a_power_of_two_above() {
        for (lateness_ns, expected_us) in [
            (0, 0),
            (999, 0),
            (-999, 0),
            (15_999, 15),
            (16_000, 16),
            (31_999, 31),
            (32_000, 32),
            (33_999, 32),
            (34_000, 34),
            (-33_000, -32),
            (1_000_000, 992),
        ] {
            assert_eq!(bucket_us(lateness_ns), expected_us, "{lateness_ns} ns");
        }
    }
}
