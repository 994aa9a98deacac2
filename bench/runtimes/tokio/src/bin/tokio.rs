//! The contender `tokio`: `tokio::time::Sleep`, with all timers held by one task.
//!
//! It is used as its manual says. A `Sleep` must be pinned, here each in its own box (`Box::pin`).
//! It enters the runtime's wheel when it is first polled. `Sleep::reset` moves it. Dropping it
//! takes it out of the wheel at once. One thread uses the current-thread runtime; several threads
//! share a multi-thread runtime with as many workers, each inside `Runtime::block_on`. In S3 the
//! timers are futures in a `FuturesUnordered`, the documented way for one task to wait for many.
//!
//! Semantics that differ: a timer runs nothing; it wakes its task, which here holds all timers.
//! Ticks are 1 ms, deadlines are rounded up, and nothing is early. On the current-thread runtime
//! nothing fires while the task itself is busy, for example scheduling in S3. Up to version 1.25
//! tokio pads each timer to whole pairs of cache lines, which S5 shows. Later versions do not.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use race_tokio::lateness::lateness_ns;
use race_tokio::workloads::{run, Contender};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep_until, Instant, Sleep};

struct OneTask {
    runtime: Runtime,
}

async fn fire(deadline: Instant) -> i64 {
    sleep_until(deadline).await;
    lateness_ns(deadline)
}

impl Contender for OneTask {
    const NAME: &'static str = "tokio";
    const RESETS: bool = true;

    type Handle = Pin<Box<Sleep>>;
    type Cancelled = ();

    fn new(threads: usize) -> Self {
        let mut builder = if threads == 1 {
            Builder::new_current_thread()
        } else {
            Builder::new_multi_thread()
        };
        let runtime = builder.worker_threads(threads).enable_time().build();
        OneTask {
            runtime: runtime.expect("a runtime"),
        }
    }

    fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    fn schedule(&self, context: &mut Context<'_>, deadline: Instant) -> Self::Handle {
        let mut sleep = Box::pin(sleep_until(deadline));
        let early = sleep.as_mut().poll(context).is_ready();
        assert!(!early, "a far timer fired when it was scheduled");
        sleep
    }

    fn restart(&self, _: &mut Context<'_>, handle: &mut Self::Handle, deadline: Instant) {
        handle.as_mut().reset(deadline);
    }

    fn cancel(&self, handle: Self::Handle) -> Option<()> {
        drop(handle);
        None
    }

    /// Scheduling, cancelling and restarting take effect at once.
    fn cascade_scheduled(&self, _: usize) {}

    fn cascade_cancelled(&self, cancelled: Vec<()>) -> usize {
        cancelled.len()
    }

    fn cascade_restarted(&self) {}

    fn fired(&self, handles: &mut [Self::Handle]) -> usize {
        handles.iter().filter(|sleep| sleep.is_elapsed()).count()
    }

    fn deliver(&self, delays: impl Iterator<Item = Duration>) -> Vec<i64> {
        self.runtime.block_on(async {
            let mut sleeps = FuturesUnordered::new();
            for delay in delays {
                sleeps.push(fire(Instant::now() + delay));
            }
            let mut lateness_ns = Vec::with_capacity(sleeps.len());
            while let Some(lateness) = sleeps.next().await {
                lateness_ns.push(lateness);
            }
            lateness_ns
        })
    }
}

fn main() {
    run::<OneTask>()
}
