import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Netty's io.netty.util.HashedWheelTimer: `netty` with 512 slots, its default, and `netty-65536`
 * with 65,536.
 *
 * It is used as its manual says: newTimeout, Timeout.cancel, and one timer for the process. No call
 * postpones a time-out, so S6 uses cancel and newTimeout.
 *
 * The tick is that of --tick-us, not the default of 100 ms. The default is meant for I/O time-outs,
 * and would only make S3 late beside contenders with ticks of 1 ms. A tick must be at least 1 ms.
 *
 * There are two contenders, because the wheel is one ring and a tick walks through all time-outs in
 * its slot, also those that are due rounds later. A ring of 512 slots of 1 ms goes round in half a
 * second, so each of a million far time-outs is visited twice a second. With 65,536 slots, which
 * the manual lets the user choose ("ticksPerWheel, the size of the wheel"), each is visited every
 * 65 s. The first is the default, and the second costs half a megabyte more.
 *
 * Semantics that differ: newTimeout and cancel only put the time-out in a queue. In each tick the
 * timer's thread takes up to 100,000 new ones, and all cancelled ones, out of it. So S1 and S2 time
 * the queue, S2 begins when all time-outs are in the wheel, and cascaded_ns lasts until
 * pendingTimeouts() is 0. Actions run on the timer's thread, at the end of their tick. The thread
 * wakes up every tick, even if nothing is due.
 */
final class NettyRace implements Facility {
    private static final long LEAST_TICK_US = 1000;
    private static final long PATIENCE_NS = 300_000_000_000L;
    private static final long LOOK_NS = 50_000; /* between two counts of the pending timers */

    private final HashedWheelTimer timer;

    private NettyRace(long tickUs, int slots) {
        if (tickUs < LEAST_TICK_US)
            throw new CannotException("a tick of Netty is of 1000 us at least, not of " + tickUs);
        timer = new HashedWheelTimer(
                new DefaultThreadFactory("race", true), tickUs, TimeUnit.MICROSECONDS, slots);
        timer.start();
    }

    public static void main(String[] arguments) {
        int slots = arguments[0].equals("netty-65536") ? 65_536 : 512;
        Race.run(arguments, options -> new NettyRace(options.tickUs, slots));
    }

    @Override
    public Object scheduleFar(int number, long delayNs) {
        return timer.newTimeout(timeout -> Race.neverRun(number), delayNs, TimeUnit.NANOSECONDS);
    }

    @Override
    public void scheduleNote(Recorder recorder, int index, long deadlineNs, long delayNs) {
        TimerTask task = timeout -> recorder.note(index, deadlineNs);
        timer.newTimeout(task, delayNs, TimeUnit.NANOSECONDS);
    }

    @Override
    public boolean cancel(Object handle) {
        return ((Timeout) handle).cancel();
    }

    /**
     * The queue is first in, first out. So when a time-out that is due at once has run, those
     * before it are in the wheel.
     */
    @Override
    public void awaitPlaced() throws InterruptedException {
        CountDownLatch ran = new CountDownLatch(1);
        timer.newTimeout(timeout -> ran.countDown(), 0, TimeUnit.NANOSECONDS);
        if (!ran.await(PATIENCE_NS, TimeUnit.NANOSECONDS))
            throw new FailedException("a time-out that is due at once does not run");
    }

    /**
     * A time-out is subtracted twice if its tick finds it cancelled before the queue of cancelled
     * ones is processed. So pendingTimeouts() can fall below 0, or be 0 while a few are left.
     */
    @Override
    public long cascade(long cancelled) {
        long began = System.nanoTime();
        while (timer.pendingTimeouts() > 0 && System.nanoTime() - began < PATIENCE_NS)
            LockSupport.parkNanos(LOOK_NS);
        return Math.max(0, timer.pendingTimeouts());
    }

    @Override
    public boolean unlinks() {
        return true;
    }

    @Override
    public void close() {
        timer.stop();
    }
}
