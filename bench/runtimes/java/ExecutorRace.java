import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * java.util.concurrent.ScheduledThreadPoolExecutor with one thread: `executor` with its defaults,
 * `executor-remove` with setRemoveOnCancelPolicy(true).
 *
 * It is used as its manual says: schedule with a Runnable, Future.cancel(false). All far timers
 * share one Runnable; a timer that comes due has one that knows its deadline. No call postpones a
 * task, so S6 cancels it and schedules a new one.
 *
 * Semantics that differ: the tasks lie in a binary heap under one lock, so scheduling and removing
 * cost log n. Without the policy, cancel only marks the task, and it stays in the heap until its
 * deadline. The manual recommends purge() against that, so cascaded_ns includes one call of it
 * after the last cancel. With the policy, cancel takes the task out at once. A task is never early:
 * it keeps nanoseconds, and there is no tick, so --tick-us does nothing.
 */
final class ExecutorRace implements Facility {
    private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1);

    private ExecutorRace(boolean remove) {
        executor.setRemoveOnCancelPolicy(remove);
    }

    public static void main(String[] arguments) {
        boolean remove = arguments[0].equals("executor-remove");
        Race.run(arguments, options -> new ExecutorRace(remove));
    }

    @Override
    public Object scheduleFar(int number, long delayNs) {
        return executor.schedule(() -> Race.neverRun(number), delayNs, TimeUnit.NANOSECONDS);
    }

    @Override
    public void scheduleNote(Recorder recorder, int index, long deadlineNs, long delayNs) {
        executor.schedule(() -> recorder.note(index, deadlineNs), delayNs, TimeUnit.NANOSECONDS);
    }

    @Override
    public boolean cancel(Object handle) {
        return ((Future<?>) handle).cancel(false);
    }

    @Override
    public long cascade(long cancelled) {
        if (!unlinks())
            executor.purge();
        return executor.getQueue().size();
    }

    @Override
    public boolean unlinks() {
        return executor.getRemoveOnCancelPolicy();
    }

    @Override
    public void close() throws InterruptedException {
        executor.shutdownNow();
        if (!executor.awaitTermination(1, TimeUnit.MINUTES))
            throw new FailedException("the executor does not end");
    }
}
