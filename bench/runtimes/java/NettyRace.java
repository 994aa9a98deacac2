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
 * It is used as its manual says: newTimeout, Timeout.cancel, and one timer for the process. There is
 * no call that moves a time-out, so S6 is cancel and newTimeout.
 *
 * The tick is what --tick-us says, and not the default of 100 ms, which is meant for I/O time-outs
 * and would do nothing but make S3 late beside contenders with ticks of 1 ms. A tick must be of 1
 * ms at least.
 *
 * Why two: the wheel is one ring, and a tick walks through all that is in its slot, also what is
 * due rounds later. A ring of 512 slots of 1 ms is round in half a second, so each of a million far
 * time-outs is looked at twice a second; with 65,536 slots, which the manual leaves to the user
 * ("ticksPerWheel, the size of the wheel"), every 65 s. Both are shown, since the first is what one
 * gets and the second what one can have for half a megabyte.
 *
 * What differs in semantics. newTimeout and cancel only put the time-out in a queue; the timer's
 * thread takes up to 100,000 new ones, and all cancelled ones, out of it in each tick. So what S1
 * and S2 time is the queue, S2 begins when all lie in the wheel, and cascaded_ns is up to when
 * pendingTimeouts() is 0. Actions run on the timer's thread, at the end of their tick. It wakes up
 * every tick, whether something is due or not.
 */
final class NettyRace implements Facility {
    private static final long LEAST_TICK_US = 1000;
    private static final long PATIENCE_NS = 300_000_000_000L;
    private static final long LOOK_NS = 50_000; /* between two looks at what is pending */

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
     * The queue is first in, first out: when one that is due at once has run, those before it lie
     * in the wheel.
     */
    @Override
    public void awaitPlaced() throws InterruptedException {
        CountDownLatch ran = new CountDownLatch(1);
        timer.newTimeout(timeout -> ran.countDown(), 0, TimeUnit.NANOSECONDS);
        if (!ran.await(PATIENCE_NS, TimeUnit.NANOSECONDS))
            throw new FailedException("a time-out that is due at once does not run");
    }

    /**
     * A time-out that its tick finds cancelled before the queue of the cancelled ones is worked off
     * is counted off twice, so pendingTimeouts() can fall below 0, and reach it when a few are
     * left.
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
