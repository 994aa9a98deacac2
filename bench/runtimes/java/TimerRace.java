import java.util.Timer;
import java.util.TimerTask;

/**
 * java.util.Timer: `java-util-timer`.
 *
 * It is used as its manual says: schedule with a TimerTask for each timer, TimerTask.cancel. No
 * call postpones a task, so S6 cancels it and schedules a new one. Delays are in milliseconds, and
 * are rounded up.
 *
 * Semantics that differ: it follows the wall clock, in whole milliseconds, and adds the delay to a
 * time that is rounded down. So a task may run up to 1 ms early. The tasks lie in a binary heap
 * under one lock. Cancel only marks the task, and it stays in the heap until its deadline. The
 * manual recommends purge() to programs that cancel many tasks, so cascaded_ns includes one call of
 * it after the last cancel. --tick-us does nothing.
 */
final class TimerRace implements Facility {
    private static final long MILLISECOND_NS = 1_000_000;

    private final Timer timer = new Timer("race", true);

    public static void main(String[] arguments) {
        Race.run(arguments, options -> new TimerRace());
    }

    private static final class Far extends TimerTask {
        private final int number;

        Far(int number) {
            this.number = number;
        }

        @Override
        public void run() {
            Race.neverRun(number);
        }
    }

    private static final class Note extends TimerTask {
        private final Recorder recorder;
        private final int index;
        private final long deadlineNs;

        Note(Recorder recorder, int index, long deadlineNs) {
            this.recorder = recorder;
            this.index = index;
            this.deadlineNs = deadlineNs;
        }

        @Override
        public void run() {
            recorder.note(index, deadlineNs);
        }
    }

    private TimerTask schedule(TimerTask task, long delayNs) {
        timer.schedule(task, (delayNs + MILLISECOND_NS - 1) / MILLISECOND_NS);
        return task;
    }

    @Override
    public Object scheduleFar(int number, long delayNs) {
        return schedule(new Far(number), delayNs);
    }

    @Override
    public void scheduleNote(Recorder recorder, int index, long deadlineNs, long delayNs) {
        schedule(new Note(recorder, index, deadlineNs), delayNs);
    }

    @Override
    public boolean cancel(Object handle) {
        return ((TimerTask) handle).cancel();
    }

    @Override
    public long cascade(long cancelled) {
        return cancelled - timer.purge();
    }

    @Override
    public boolean unlinks() {
        return false;
    }

    @Override
    public void close() {
        timer.cancel();
    }
}
