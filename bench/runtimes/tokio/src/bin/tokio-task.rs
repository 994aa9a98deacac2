//! The contender `tokio-task`: `tokio::spawn`, with a task for each timer, which waits in
//! `tokio::time::sleep_until`.
//!
//! It is used as its manual says. `JoinHandle::abort` cancels a task. There is no restart, so the
//! task is aborted and another one is spawned. The runtime is the default one, with a worker for
//! each processor. Timers are scheduled from threads inside `Runtime::block_on`, as from `async fn
//! main`.
//!
//! Semantics that differ: the timer enters the wheel when a worker has polled the new task, and
//! leaves it when a worker has dropped the aborted one. Both happen after the call has returned,
//! and `cascaded_ns` is the time until the last has. In S6 at most a thousand aborted tasks wait to
//! be dropped, and the time includes that. Ticks are 1 ms, deadlines are rounded up, nothing is
//! early.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Context;
use std::thread;
use std::time::Duration;

use race_tokio::lateness::lateness_ns;
use race_tokio::workloads::{run, Contender};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, Instant};

struct TaskEach {
    runtime: Runtime,
}

/// The numbers of far tasks of this round that were polled for the first time, dropped, aborted to
/// be replaced, and fired.
static POLLED: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);
static REPLACED: AtomicUsize = AtomicUsize::new(0);
static FIRED: AtomicUsize = AtomicUsize::new(0);

struct CountDrop;

impl Drop for CountDrop {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
    }
}

async fn far(deadline: Instant, _count: CountDrop) {
    POLLED.fetch_add(1, Relaxed);
    sleep_until(deadline).await;
    FIRED.fetch_add(1, Relaxed);
}

async fn fire(deadline: Instant) -> i64 {
    sleep_until(deadline).await;
    lateness_ns(deadline)
}

fn wait_for(counter: &AtomicUsize, count: usize) {
    while counter.load(Relaxed) < count {
        thread::yield_now();
    }
}

impl Contender for TaskEach {
    const NAME: &'static str = "tokio-task";
    const RESETS: bool = false;

    type Handle = JoinHandle<()>;
    type Cancelled = JoinHandle<()>;

    fn new(_threads: usize) -> Self {
        for counter in [&POLLED, &DROPPED, &REPLACED, &FIRED] {
            counter.store(0, Relaxed);
        }
        let runtime = Builder::new_multi_thread().enable_time().build();
        TaskEach {
            runtime: runtime.expect("a runtime"),
        }
    }

    fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    fn schedule(&self, _: &mut Context<'_>, deadline: Instant) -> Self::Handle {
        tokio::spawn(far(deadline, CountDrop))
    }

    fn restart(&self, context: &mut Context<'_>, handle: &mut Self::Handle, deadline: Instant) {
        handle.abort();
        REPLACED.fetch_add(1, Relaxed);
        *handle = self.schedule(context, deadline);
    }

    fn cancel(&self, handle: Self::Handle) -> Option<Self::Cancelled> {
        handle.abort();
        Some(handle)
    }

    fn cascade_scheduled(&self, scheduled: usize) {
        wait_for(&POLLED, scheduled);
    }

    fn cascade_cancelled(&self, cancelled: Vec<Self::Cancelled>) -> usize {
        self.runtime.block_on(async {
            let mut unfired = 0;
            for task in cancelled {
                unfired += usize::from(matches!(task.await, Err(error) if error.is_cancelled()));
            }
            unfired
        })
    }

    fn cascade_restarted(&self) {
        wait_for(&DROPPED, REPLACED.load(Relaxed));
    }

    fn fired(&self, _: &mut [Self::Handle]) -> usize {
        FIRED.load(Relaxed)
    }

    fn deliver(&self, delays: impl Iterator<Item = Duration>) -> Vec<i64> {
        self.runtime.block_on(async {
            let tasks: Vec<_> = delays
                .map(|delay| tokio::spawn(fire(Instant::now() + delay)))
                .collect();
            let mut lateness_ns = Vec::with_capacity(tasks.len());
            for task in tasks {
                lateness_ns.extend(task.await.ok());
            }
            lateness_ns
        })
    }
}

fn main() {
    run::<TaskEach>()
}
