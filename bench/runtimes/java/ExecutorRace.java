import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * java.util.concurrent.ScheduledThreadPoolExecutor with one thread: `executor` as it comes,
 * `executor-remove` with setRemoveOnCancelPolicy(true).
 *
 * It is used as its manual says: schedule with a Runnable, Future.cancel(false). A far timer shares
 * one Runnable with all others; what comes due has one that knows its deadline. There is no call
 * that moves a task, so S6 is cancel and schedule anew.
 *
 * What differs in semantics. The tasks lie in a binary heap under one lock, so scheduling and
 * removing cost log n. Without the policy, cancel only marks the task, which stays in the heap
 * until its time; the manual's means against that is purge(), so cascaded_ns has one call of it
 * added, after the last cancel. With the policy, cancel takes it out at once. Never early:
 * nanoseconds are kept, and there is no tick, so --tick-us does nothing.
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
