//! The command line, which is the same for all programs of the race.

use std::process::exit;

pub struct Arguments {
    pub workload: String,
    pub timers: usize,
    pub threads: usize,
    pub rounds: usize,
    pub seconds: f64,
    pub lateness: Option<String>,
}

const USAGE: &str = "--workload S1..S6 [--timers N] [--threads N] [--rounds N] [--seconds S] \
                     [--tick-us N] [--lateness FILE]";
const EXIT_USAGE: i32 = 2;
const TIMERS_MOST: usize = 100_000_000;
const THREADS_MOST: usize = 256;
const ROUNDS_MOST: usize = 1000;
const SECONDS_MOST: f64 = 3600.0;

fn refuse(program: &str, fault: &str) -> ! {
    eprintln!("{program}: {fault}; usage: {program} {USAGE}");
    exit(EXIT_USAGE);
}

fn read_count(option: &str, text: &str, most: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ => Err(format!(
            "{option}: '{text}' is not a number from 1 to {most}"
        )),
    }
}

fn read_seconds(option: &str, text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= SECONDS_MOST => Ok(seconds),
        _ => Err(format!(
            "{option}: '{text}' is not a number above 0 and up to {SECONDS_MOST}"
        )),
    }
}

fn read_option(arguments: &mut Arguments, option: &str, value: &str) -> Result<(), String> {
    match option {
        "--workload" => arguments.workload = value.to_string(),
        "--timers" => arguments.timers = read_count(option, value, TIMERS_MOST)?,
        "--threads" => arguments.threads = read_count(option, value, THREADS_MOST)?,
        "--rounds" => arguments.rounds = read_count(option, value, ROUNDS_MOST)?,
        "--seconds" => arguments.seconds = read_seconds(option, value)?,
        // tokio's wheel has ticks of 1 ms, which cannot be changed.
        "--tick-us" => drop(read_count(option, value, usize::MAX)?),
        "--lateness" => arguments.lateness = Some(value.to_string()),
        _ => return Err(format!("unknown option '{option}'")),
    }
    Ok(())
}

fn read_all(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        workload: String::new(),
        timers: 1_000_000,
        threads: 1,
        rounds: 5,
        seconds: 5.0,
        lateness: None,
    };
    while let Some(option) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("'{option}' has no value"))?;
        read_option(&mut arguments, &option, &value)?;
    }
    if !["S1", "S2", "S3", "S4", "S5", "S6"].contains(&arguments.workload.as_str()) {
        return Err(format!(
            "--workload: '{}' is none of S1 to S6",
            arguments.workload
        ));
    }
    if arguments.timers % arguments.threads != 0 {
        return Err("--timers: not a multiple of --threads".to_string());
    }
    Ok(arguments)
}

/// Ends the program with status 2 after a mistake.
pub fn read(program: &str) -> Arguments {
    match read_all(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(fault) => refuse(program, &fault),
    }
}
