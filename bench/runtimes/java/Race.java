import java.io.IOException;
import java.util.Locale;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * The workloads S1 to S6 of bench/runtimes, for contenders in a JVM. ExecutorRace, NettyRace and
 * TimerRace describe the contenders and how they are used. Each process loads only one of them, so
 * that calls of Facility cost as much as direct calls.
 *
 * The JVM has a heap of fixed size, large enough for a million timers of any contender and more. So
 * growing the heap is not part of the race. Its pages are not touched beforehand (build.sh has the
 * options). S1, S2 and S6 have a first round that is not reported. S3, S4 and S5 have a smaller
 * first round that is not measured, in which classes are loaded and code is compiled. Processor
 * time and context switches are those of the whole process, with the compiler, the garbage
 * collector and the JVM's own periodic threads, which wake up some thirty times a second.
 */
final class Race {
    private static final long SECOND_NS = 1_000_000_000L;
    private static final long FAR_DELAY_NS = 1800 * SECOND_NS;
    private static final long FAR_SPAN_NS = 60 * SECOND_NS;
    private static final int RESCHEDULE_TIMERS = 100_000;
    private static final long RESCHEDULE_DELAY_NS = 60 * SECOND_NS;
    private static final long RESCHEDULES_MOST = 5_000_000;
    private static final int RESCHEDULES_AT_ONCE = 1000; /* between two looks at the clock */
    private static final int WARM_UP_TIMERS = 100_000;
    /* There are few, because the pages that they touch are not counted afterwards. */
    private static final int WARM_UP_TIMERS_MEMORY = 1000;
    private static final int WARM_UP_READINGS = 200;
    private static final long SETTLING_MS = 2000;
    private static final long GRACE_MS = 100; /* in which what fires twice would show */
    private static final long PATIENCE_NS = 60 * SECOND_NS; /* for timers that are late */

    private static final AtomicLong FAR_RAN = new AtomicLong();

    private final Options options;
    private final Function<Options, Facility> maker;

    private Race(Options options, Function<Options, Facility> maker) {
        this.options = options;
        this.maker = maker;
    }

    /**
     * The action of far timers. Each carries the number of its purpose, as a timer of a real
     * program does.
     */
    static void neverRun(int number) {
        FAR_RAN.addAndGet(number + 1L);
    }

    static void report(String metric, double value) {
        System.out.printf(Locale.ROOT, "%s\t%.6f%n", metric, value);
    }

    static void report(String metric, long value) {
        System.out.printf(Locale.ROOT, "%s\t%d%n", metric, value);
    }

    /**
     * Runs the workload that the arguments name, and ends the process. The first argument is the
     * contender's name.
     */
    static void run(String[] arguments, Function<Options, Facility> maker) {
        int status = 1;
        String complaint;
        try {
            new Race(Options.parse(arguments), maker).run();
            System.exit(0);
            return;
        } catch (UsageException wrong) {
            status = 2;
            complaint = wrong.getMessage();
        } catch (CannotException missing) {
            status = 3;
            complaint = missing.getMessage();
        } catch (FailedException failure) {
            complaint = failure.getMessage();
        } catch (Exception | OutOfMemoryError failure) {
            complaint = failure.toString();
        }
        System.err.println(arguments[0] + ": " + complaint);
        System.exit(status);
    }

    private void run() throws Exception {
        if (options.threads > 1 && !options.workload.equals("S1"))
            throw new CannotException(
                    "one thread alone does all of " + options.workload + "; --threads is for S1");
        int fewer = Math.min(options.timers, WARM_UP_TIMERS);
        double shorter = Math.min(options.seconds, 1);
        switch (options.workload) {
            case "S1" -> inRounds(this::schedule);
            case "S2" -> inRounds(this::cancel);
            case "S3" -> {
                deliver(fewer, shorter, false);
                deliver(options.timers, options.seconds, true);
            }
            case "S4" -> {
                /* Reading starts the compiler. Wait until it has finished. */
                for (int i = 0; i < WARM_UP_READINGS; i++)
                    new Process.Usage().stop();
                idle(fewer, shorter, false);
                idle(options.timers, options.seconds, true);
            }
            case "S5" -> {
                weigh(Math.min(options.timers, WARM_UP_TIMERS_MEMORY), false);
                System.gc();
                Thread.sleep(SETTLING_MS); /* for finalizers: Netty's timer has one */
                weigh(options.timers, true);
            }
            default -> inRounds(this::reschedule);
        }
        FailedException.checkCount("far timers that ran", FAR_RAN.get(), 0);
    }

    private interface Round {
        void run(Facility facility, boolean reported) throws Exception;
    }

    private void inRounds(Round round) throws Exception {
        for (int i = 0; i <= options.rounds; i++) {
            Facility facility = maker.apply(options);
            round.run(facility, i > 0);
            facility.close();
            System.gc();
        }
    }

    private static void scheduleFar(
            Facility facility, Generator random, Object[] handles, int from, int to) {
        for (int i = from; i < to; i++)
            handles[i] = facility.scheduleFar(i, FAR_DELAY_NS + random.below(FAR_SPAN_NS));
    }

    private static long cancelAll(Facility facility, Object[] handles) {
        long cancelled = 0;
        for (Object handle : handles)
            cancelled += facility.cancel(handle) ? 1 : 0;
        return cancelled;
    }

    private static void checkAllPending(Facility facility, Object[] handles) {
        FailedException.checkCount("timers pending", cancelAll(facility, handles), handles.length);
    }

    /* ---- S1 ---- */

    /** One of the threads that schedule at the same time. */
    private static final class Filler extends Thread {
        private final Facility facility;
        private final CyclicBarrier barrier;
        private final Generator random;
        private final Object[] handles;
        private final int from;
        private final int to;
        private long beganNs;
        private long endedNs;

        Filler(Facility facility, CyclicBarrier barrier, int number, Object[] handles, int from,
                int to) {
            this.facility = facility;
            this.barrier = barrier;
            this.random = new Generator(Generator.SEED + number);
            this.handles = handles;
            this.from = from;
            this.to = to;
        }

        @Override
        public void run() {
            try {
                barrier.await();
            } catch (InterruptedException | BrokenBarrierException failure) {
                return; /* the handles that are missing tell it */
            }
            beganNs = System.nanoTime();
            scheduleFar(facility, random, handles, from, to);
            endedNs = System.nanoTime();
        }
    }

    private void schedule(Facility facility, boolean reported) throws InterruptedException {
        Object[] handles = new Object[options.timers];
        Filler[] fillers = new Filler[options.threads];
        CyclicBarrier barrier = new CyclicBarrier(options.threads);
        int placed = 0;
        for (int i = 0; i < fillers.length; i++) {
            int share = (handles.length - placed) / (fillers.length - i);
            fillers[i] = new Filler(facility, barrier, i, handles, placed, placed + share);
            placed += share;
        }
        for (Filler filler : fillers)
            filler.start();
        long beganNs = Long.MAX_VALUE;
        long endedNs = Long.MIN_VALUE;
        for (Filler filler : fillers) {
            filler.join();
            beganNs = Math.min(beganNs, filler.beganNs);
            endedNs = Math.max(endedNs, filler.endedNs);
        }
        facility.awaitPlaced();
        long placedNs = System.nanoTime();
        if (handles[handles.length - 1] == null)
            throw new FailedException("a thread ended before it had scheduled all of its timers");
        if (reported) {
            report("schedule_ns", (double) (endedNs - beganNs) / handles.length);
            report("cascaded_ns", (double) (placedNs - beganNs) / handles.length);
        }
        checkAllPending(facility, handles);
    }

    /* ---- S2 ---- */

    private void cancel(Facility facility, boolean reported) throws InterruptedException {
        Generator random = new Generator(Generator.SEED);
        Object[] handles = new Object[options.timers];
        scheduleFar(facility, random, handles, 0, handles.length);
        for (int left = handles.length; left > 1; left--) {
            int chosen = (int) random.below(left);
            Object last = handles[left - 1];
            handles[left - 1] = handles[chosen];
            handles[chosen] = last;
        }
        facility.awaitPlaced();

        long beganNs = System.nanoTime();
        long cancelled = cancelAll(facility, handles);
        long cancelledNs = System.nanoTime();
        long left = facility.cascade(cancelled);
        long cascadedNs = System.nanoTime();
        if (reported) {
            report("cancel_ns", (double) (cancelledNs - beganNs) / handles.length);
            report("cascaded_ns", (double) (cascadedNs - beganNs) / handles.length);
            report("unlinks", facility.unlinks() ? 1 : 0);
        }
        FailedException.checkCount("timers cancelled", cancelled, handles.length);
        FailedException.checkCount("entries left of them", left, 0);
    }

    /* ---- S3 ---- */

    private void deliver(int timers, double seconds, boolean reported) throws Exception {
        Generator random = new Generator(Generator.SEED);
        Recorder recorder = new Recorder(timers);
        long spanNs = (long) (seconds * SECOND_NS);
        Facility facility = maker.apply(options);
        System.gc();

        Process.Usage usage = new Process.Usage();
        long beganNs = System.nanoTime();
        for (int i = 0; i < timers; i++) {
            long delayNs = random.below(spanNs);
            facility.scheduleNote(recorder, i, System.nanoTime() + delayNs, delayNs);
        }
        recorder.await(spanNs + PATIENCE_NS);
        double completion = (System.nanoTime() - beganNs) / 1e9;
        usage.stop();

        Thread.sleep(GRACE_MS);
        recorder.checkFired();
        if (reported) {
            report("cpu_s", usage.cpuSeconds());
            report("completion_s", completion);
            report("fired", recorder.fired());
            recorder.report(options.latenessFile);
        }
        facility.close();
    }

    /* ---- S4 ---- */

    private void idle(int timers, double seconds, boolean reported) throws Exception {
        Object[] handles = new Object[timers];
        Facility facility = maker.apply(options);
        scheduleFar(facility, new Generator(Generator.SEED), handles, 0, timers);
        System.gc();
        Thread.sleep(SETTLING_MS);

        Process.Usage usage = new Process.Usage();
        Thread.sleep((long) Math.ceil(seconds * 1e3));
        usage.stop();
        if (reported) {
            report("cpu_s", usage.cpuSeconds());
            report("switches", usage.switches());
        }
        checkAllPending(facility, handles);
        facility.close();
    }

    /* ---- S5 ---- */

    private static long heapBytes() {
        System.gc();
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private void weigh(int timers, boolean reported) throws IOException, InterruptedException {
        Object[] handles = new Object[timers]; /* the JVM fills it, so every page is there */
        Facility facility = maker.apply(options);
        long heapBefore = heapBytes();
        long residentBefore = Process.residentBytes();
        scheduleFar(facility, new Generator(Generator.SEED), handles, 0, timers);
        facility.awaitPlaced();
        long residentAfter = Process.residentBytes();
        long heapAfter = heapBytes();
        if (reported) {
            report("task_bytes", (double) (heapAfter - heapBefore) / timers);
            report("resident_bytes", (double) (residentAfter - residentBefore) / timers);
        }
        checkAllPending(facility, handles);
        facility.close();
    }

    /* ---- S6 ---- */

    private void reschedule(Facility facility, boolean reported) throws InterruptedException {
        Generator random = new Generator(Generator.SEED);
        Object[] handles = new Object[RESCHEDULE_TIMERS];
        long mostNs = (long) (options.seconds * SECOND_NS);
        long tries = 0;
        long moved = 0;
        for (int i = 0; i < handles.length; i++)
            handles[i] = facility.scheduleFar(i, RESCHEDULE_DELAY_NS);
        facility.awaitPlaced();

        long beganNs = System.nanoTime();
        long endedNs = beganNs;
        while (tries < RESCHEDULES_MOST && endedNs - beganNs < mostNs) {
            for (int i = 0; i < RESCHEDULES_AT_ONCE; i++) {
                int chosen = (int) random.below(RESCHEDULE_TIMERS);
                moved += facility.cancel(handles[chosen]) ? 1 : 0;
                handles[chosen] = facility.scheduleFar(chosen, RESCHEDULE_DELAY_NS);
            }
            tries += RESCHEDULES_AT_ONCE;
            endedNs = System.nanoTime();
        }
        if (reported) {
            report("reschedule_ns", (double) (endedNs - beganNs) / tries);
            report("resets", 0);
        }
        FailedException.checkCount("timers rescheduled", moved, tries);
        checkAllPending(facility, handles);
    }
}
