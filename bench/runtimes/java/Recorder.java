import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** How late each action ran, noted by the actions of S3. */
final class Recorder {
    private static final long UNSET = Long.MIN_VALUE;

    private final long[] latenessNs;
    private final AtomicInteger fired = new AtomicInteger();
    private final CountDownLatch done = new CountDownLatch(1);

    Recorder(int count) {
        latenessNs = new long[count];
        Arrays.fill(latenessNs, UNSET);
    }

    /** What an action does. */
    void note(int index, long deadlineNs) {
        latenessNs[index] = System.nanoTime() - deadlineNs;
        if (fired.incrementAndGet() == latenessNs.length)
            done.countDown();
    }

    /** Waits until all have run, or so long. */
    void await(long mostNs) throws InterruptedException {
        if (!done.await(mostNs, TimeUnit.NANOSECONDS))
            checkFired();
    }

    int fired() {
        return fired.get();
    }

    /** Each ran once. */
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

    private double quantileMs(long thousandths) {
        return latenessNs[(int) ((latenessNs.length - 1) * thousandths / 1000)] / 1e6;
    }

    /**
     * The lower bound of the bucket of so many microseconds: each has its own below 16, and each
     * power of two has 16 above. Buckets of what is early mirror those of what is late.
     */
    private static long bucketUs(long latenessUs) {
        if (latenessUs < 0) {
            long magnitudeUs = bucketUs(-latenessUs);
            return -(magnitudeUs + bucketWidthUs(magnitudeUs) - 1);
        }
        return latenessUs & -bucketWidthUs(latenessUs);
    }

    private static long bucketWidthUs(long magnitudeUs) {
        return magnitudeUs < 16 ? 1 : Long.highestOneBit(magnitudeUs) >> 4;
    }

    private void writeHistogram(String file) throws IOException {
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Path.of(file)))) {
            int first = 0;
            for (int i = 1; i <= latenessNs.length; i++) {
                long bucketUs = bucketUs(Math.floorDiv(latenessNs[first], 1000L));
                if (i < latenessNs.length && bucketUs(Math.floorDiv(latenessNs[i], 1000L)) == bucketUs)
                    continue;
                out.println(bucketUs + "," + (i - first));
                first = i;
            }
            if (out.checkError())
                throw new IOException(file + ": cannot write");
        }
    }
}
