import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Records how late each action of S3 ran. */
final class Recorder {
    private static final long UNSET = Long.MIN_VALUE;

    private final long[] latenessNs;
    private final AtomicInteger fired = new AtomicInteger();
    private final CountDownLatch done = new CountDownLatch(1);

    Recorder(int count) {
        latenessNs = new long[count];
        Arrays.fill(latenessNs, UNSET);
    }

    /** Notes that an action runs now. */
    void note(int index, long deadlineNs) {
        latenessNs[index] = System.nanoTime() - deadlineNs;
        if (fired.incrementAndGet() == latenessNs.length)
            done.countDown();
    }

    /** Waits until all actions have run, or until the time is up. */
    void await(long mostNs) throws InterruptedException {
        if (!done.await(mostNs, TimeUnit.NANOSECONDS))
            checkFired();
    }

    int fired() {
        return fired.get();
    }

    /** Checks that each action ran once. */
    void checkFired() {
        FailedException.checkCount("timers fired", fired.get(), latenessNs.length);
        for (int i = 0; i < latenessNs.length; i++) {
            if (latenessNs[i] == UNSET)
                throw new FailedException("timer " + i + " never fired, but another twice");
        }
    }

    /** Reports the lateness, and writes the histogram if a file is named. Sorts the notes. */
    void report(String file) throws IOException {
        Arrays.sort(latenessNs);
        Race.report("early", Arrays.stream(latenessNs).filter(lateness -> lateness < 0).count());
        Race.report("earliest_ms", quantileMs(0));
        Race.report("p50_ms", quantileMs(500));
        Race.report("p90_ms", quantileMs(900));
        Race.report("p99_ms", quantileMs(990));
        Race.report("p999_ms", quantileMs(999));
        Race.report("latest_ms", quantileMs(1000));
        if (!file.isEmpty())
            writeHistogram(file);
    }

    /** Returns the least lateness that so many thousandths of the timers do not exceed. */
    private double quantileMs(long thousandths) {
        long place = (latenessNs.length * thousandths + 999) / 1000;
        return latenessNs[(int) Math.max(place, 1) - 1] / 1e6;
    }

    /**
     * Returns the lower bound of the bucket of so many microseconds. Below 16 in magnitude each
     * microsecond is a bucket; above, each power of two has 16. Early times are rounded away from
     * 0.
     */
    private static long bucketUs(long latenessUs) {
        if (latenessUs < 0) {
            long widthUs = bucketWidthUs(-latenessUs);
            return -((-latenessUs + widthUs - 1) & -widthUs);
        }
        return latenessUs & -bucketWidthUs(latenessUs);
    }

    private static long bucketWidthUs(long magnitudeUs) {
        return magnitudeUs < 16 ? 1 : Long.highestOneBit(magnitudeUs) >> 4;
    }

    /** Rounds down, so that a time that is early by less than a microsecond is still early. */
    private long bucketOf(int index) {
        return bucketUs(Math.floorDiv(latenessNs[index], 1000L));
    }

    private void writeHistogram(String file) throws IOException {
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Path.of(file)))) {
            int first = 0;
            for (int i = 1; i <= latenessNs.length; i++) {
                if (i < latenessNs.length && bucketOf(first) == bucketOf(i))
                    continue;
                out.println(bucketOf(first) + "," + (i - first));
                first = i;
            }
            if (out.checkError())
                throw new IOException(file + ": cannot write");
        }
    }
}
