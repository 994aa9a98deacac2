//! The workloads S1 to S6, which bench/runtimes/README.md describes.

use std::path::Path;
use std::process::exit;
use std::sync::Barrier;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use futures_util::future::poll_fn;
use tokio::runtime::Runtime;
use tokio::task::unconstrained;
use tokio::time::Instant;

use crate::arguments::{self, Arguments};
use crate::{check_count, lateness, print_figure, process, Generator, Outcome};

/// One way to keep timers with tokio.
pub trait Contender: Sync {
    const NAME: &'static str;
    /// Whether a restart is one call.
    const RESETS: bool;

    /// Keeps a timer; dropping it does not matter to the measurements.
    type Handle: Send;

    /// Returns a fresh runtime, for timers that so many threads schedule.
    fn new(threads: usize) -> Self;
    fn runtime(&self) -> &Runtime;

    fn schedule(&self, context: &mut Context<'_>, deadline: Instant) -> Self::Handle;
    fn restart(&self, context: &mut Context<'_>, handle: &mut Self::Handle, deadline: Instant);
    /// Cancels a timer. It will not fire any more, but it may not be removed yet.
    fn cancel(&self, handle: Self::Handle) -> Option<Self::Cancelled>;
    /// The rest of a handle, kept until the runtime has removed the timer.
    type Cancelled;

    /// Waits until the runtime knows all scheduled timers.
    fn cascade_scheduled(&self, scheduled: usize);
    /// Waits until the runtime has removed the cancelled timers. Returns how many did not fire.
    fn cascade_cancelled(&self, cancelled: Vec<Self::Cancelled>) -> usize;
    /// Waits until the runtime has removed the timers that restarts have replaced.
    fn cascade_restarted(&self);
    /// Returns how many timers fired before they were due.
    fn fired(&self, handles: &mut [Self::Handle]) -> usize;

    /// Schedules as many timers as there are delays, and returns how late each was.
    fn deliver(&self, delays: impl Iterator<Item = Duration>) -> Vec<i64>;
}

const FAR_NS: u64 = 1_800_000_000_000;
const FAR_SPAN_NS: u64 = 60_000_000_000;
const TIME_TO_LIVE: Duration = Duration::from_secs(60);
const RESTART_TIMERS: usize = 100_000;
const RESTARTS_MOST: usize = 5_000_000;
const RESTARTS_AT_ONCE: usize = 1000;
const CASCADE: Duration = Duration::from_secs(2);

/// Runs `work` inside the runtime, with a waker, without a pause. A task may poll only so many
/// timers before it must let others run, and further polls do nothing; `unconstrained` lifts that.
fn inside<T>(runtime: &Runtime, mut work: impl FnMut(&mut Context<'_>) -> T) -> T {
    runtime.block_on(unconstrained(poll_fn(|context| Poll::Ready(work(context)))))
}

fn far_delay(generator: &mut Generator) -> Duration {
    Duration::from_nanos(FAR_NS + generator.below(FAR_SPAN_NS))
}

fn schedule_far<C: Contender>(contender: &C, seed: u64, handles: &mut [Option<C::Handle>]) {
    let mut generator = Generator::new(seed);
    inside(contender.runtime(), |context| {
        for handle in handles.iter_mut() {
            let deadline = Instant::now() + far_delay(&mut generator);
            *handle = Some(contender.schedule(context, deadline));
        }
    });
}

/// Returns room for handles, in memory that is touched before anything is measured.
fn places<T>(count: usize) -> Vec<Option<T>> {
    (0..count).map(|_| None).collect()
}

fn taken<T>(places: Vec<Option<T>>) -> Vec<T> {
    places.into_iter().flatten().collect()
}

fn far_population<C: Contender>(contender: &C, timers: usize) -> Vec<C::Handle> {
    let mut handles = places(timers);
    schedule_far(contender, Generator::SEED, &mut handles);
    contender.cascade_scheduled(timers);
    taken(handles)
}

fn check_none_fired<C: Contender>(contender: &C, handles: &mut [C::Handle]) -> Outcome {
    check_count("far timers that fired", contender.fired(handles), 0)
}

fn ns_each(took: Duration, count: usize) -> f64 {
    took.as_nanos() as f64 / count as f64
}

/// S1: each thread notes when it began and ended. The time runs from the first begin to the last
/// end.
fn schedule<C: Contender>(arguments: &Arguments, reported: bool) -> Outcome {
    let contender = C::new(arguments.threads);
    let mut handles = places(arguments.timers);
    let share = arguments.timers / arguments.threads;
    let barrier = Barrier::new(arguments.threads);
    let spans: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let threads: Vec<_> = (Generator::SEED..)
            .zip(handles.chunks_mut(share))
            .map(|(seed, handles)| {
                let (contender, barrier) = (&contender, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let began = Instant::now();
                    schedule_far(contender, seed, handles);
                    (began, Instant::now())
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a scheduling thread panicked"))
            .collect()
    });
    let began = spans.iter().map(|span| span.0).min().expect("a thread");
    let ended = spans.iter().map(|span| span.1).max().expect("a thread");
    contender.cascade_scheduled(arguments.timers);
    let cascaded = Instant::now();

    let mut handles = taken(handles);
    check_count("timers scheduled", handles.len(), arguments.timers)?;
    check_none_fired(&contender, &mut handles)?;
    if reported {
        print_figure("schedule_ns", ns_each(ended - began, arguments.timers));
        print_figure("cascaded_ns", ns_each(cascaded - began, arguments.timers));
    }
    Ok(())
}

/// S2.
fn cancel<C: Contender>(arguments: &Arguments, reported: bool) -> Outcome {
    let contender = C::new(1);
    let mut handles = far_population(&contender, arguments.timers);
    check_none_fired(&contender, &mut handles)?;
    Generator::new(Generator::SEED).shuffle(&mut handles);
    let mut cancelled = Vec::with_capacity(arguments.timers);

    let began = Instant::now();
    inside(contender.runtime(), |_| {
        cancelled.extend(
            handles
                .drain(..)
                .filter_map(|handle| contender.cancel(handle)),
        );
    });
    let ended = Instant::now();
    let left = cancelled.len();
    let unfired = contender.cascade_cancelled(cancelled);
    let cascaded = Instant::now();

    check_count("timers cancelled that did not fire", unfired, left)?;
    if reported {
        print_figure("cancel_ns", ns_each(ended - began, arguments.timers));
        print_figure("cascaded_ns", ns_each(cascaded - began, arguments.timers));
        print_figure("unlinks", 1.0);
    }
    Ok(())
}

/// S3.
fn deliver<C: Contender>(arguments: &Arguments) -> Outcome {
    let contender = C::new(1);
    let mut generator = Generator::new(Generator::SEED);
    let span_ns = (arguments.seconds * 1e9) as u64;
    let delays = (0..arguments.timers).map(move |_| Duration::from_nanos(generator.below(span_ns)));

    let cpu_began = process::cpu_seconds();
    let began = Instant::now();
    let mut lateness_ns = contender.deliver(delays);
    let completion = began.elapsed();
    let cpu = process::cpu_seconds() - cpu_began;

    check_count("timers fired", lateness_ns.len(), arguments.timers)?;
    print_figure("cpu_s", cpu);
    print_figure("completion_s", completion.as_secs_f64());
    lateness::print_figures(&mut lateness_ns);
    if let Some(path) = &arguments.lateness {
        lateness::write_histogram(Path::new(path), &lateness_ns)
            .map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// S4: the runtime sleeps on this thread, too, as it does in a real program.
fn idle<C: Contender>(arguments: &Arguments) -> Outcome {
    let contender = C::new(1);
    let mut handles = far_population(&contender, arguments.timers);
    let pause = |time| {
        contender
            .runtime()
            .block_on(async { tokio::time::sleep(time).await })
    };
    pause(CASCADE);

    let switches_began = process::switches();
    let cpu_began = process::cpu_seconds();
    pause(Duration::from_secs_f64(arguments.seconds));
    let cpu = process::cpu_seconds() - cpu_began;
    let switches = process::switches() - switches_began;

    check_none_fired(&contender, &mut handles)?;
    print_figure("cpu_s", cpu);
    print_figure("switches", switches as f64);
    Ok(())
}

/// S5.
fn memory<C: Contender>(arguments: &Arguments) -> Outcome {
    let contender = C::new(1);
    let mut handles = places(arguments.timers);
    let before = process::resident_bytes();
    schedule_far(&contender, Generator::SEED, &mut handles);
    contender.cascade_scheduled(arguments.timers);
    let after = process::resident_bytes();

    check_none_fired(&contender, &mut taken(handles))?;
    let bytes = (after - before) / arguments.timers as f64;
    print_figure("task_bytes", bytes);
    print_figure("resident_bytes", bytes);
    Ok(())
}

/// S6.
fn reschedule<C: Contender>(arguments: &Arguments, reported: bool) -> Outcome {
    let contender = C::new(1);
    let runtime = contender.runtime();
    let mut generator = Generator::new(Generator::SEED);
    let mut handles: Vec<C::Handle> = inside(runtime, |context| {
        (0..RESTART_TIMERS)
            .map(|_| contender.schedule(context, Instant::now() + TIME_TO_LIVE))
            .collect()
    });
    contender.cascade_scheduled(RESTART_TIMERS);
    let limit = Duration::from_secs_f64(arguments.seconds);

    let began = Instant::now();
    let mut restarts = 0;
    while restarts < RESTARTS_MOST && began.elapsed() < limit {
        inside(runtime, |context| {
            for _ in 0..RESTARTS_AT_ONCE {
                let chosen = generator.below(RESTART_TIMERS as u64) as usize;
                let deadline = Instant::now() + TIME_TO_LIVE;
                contender.restart(context, &mut handles[chosen], deadline);
            }
        });
        contender.cascade_restarted();
        restarts += RESTARTS_AT_ONCE;
    }
    let took = began.elapsed();

    check_none_fired(&contender, &mut handles)?;
    if reported {
        print_figure("reschedule_ns", ns_each(took, restarts));
        print_figure("resets", f64::from(u8::from(C::RESETS)));
    }
    Ok(())
}

/// The first round warms up.
fn rounds(arguments: &Arguments, workload: fn(&Arguments, bool) -> Outcome) -> Outcome {
    (0..=arguments.rounds).try_for_each(|round| workload(arguments, round > 0))
}

/// Runs the whole program.
pub fn run<C: Contender>() -> ! {
    let arguments = arguments::read(C::NAME);
    let outcome = match arguments.workload.as_str() {
        "S1" => rounds(&arguments, schedule::<C>),
        "S2" => rounds(&arguments, cancel::<C>),
        "S3" => deliver::<C>(&arguments),
        "S4" => idle::<C>(&arguments),
        "S5" => memory::<C>(&arguments),
        _ => rounds(&arguments, reschedule::<C>),
    };
    if let Err(fault) = outcome {
        eprintln!("{}: {}: {fault}", C::NAME, arguments.workload);
        exit(1);
    }
    exit(0);
}
