//! The common part of the two contenders of tokio: the command line, the random numbers, the
//! workloads S1 to S6, and the readings that they print.

pub mod arguments;
pub mod lateness;
pub mod process;
pub mod workloads;

/// splitmix64, by Sebastiano Vigna, the random generator of every workload.
pub struct Generator {
    state: u64,
}

impl Generator {
    pub const SEED: u64 = 12345;

    pub fn new(seed: u64) -> Self {
        Generator { state: seed }
    }

    /// Returns a random number in [0, bound).
    pub fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * u128::from(bound)) >> 64) as u64
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for left in (2..=items.len()).rev() {
            items.swap(left - 1, self.below(left as u64) as usize);
        }
    }
}

/// One line of the report.
pub fn print_figure(metric: &str, value: f64) {
    println!("{metric}\t{value}");
}

/// The message of a failed check.
pub type Outcome = Result<(), String>;

pub fn check_count(what: &str, count: usize, expected: usize) -> Outcome {
    if count == expected {
        return Ok(());
    }
    Err(format!("{what}: {count}, expected {expected}"))
}
