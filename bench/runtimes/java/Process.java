import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** The system's figures of this process. */
final class Process {
    private static final Path TASKS = Path.of("/proc/self/task");
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Process() {
    }

    /** Reads a number of a thread in its directory in /proc. */
    private interface ThreadReader {
        long read(Path thread) throws IOException;
    }

    /**
     * Returns a number for each thread of the process. Only threads that live until the end are
     * counted, so build.sh tells the JVM to keep its compiler threads.
     */
    private static Map<Path, Long> ofThreads(ThreadReader reader) {
        Map<Path, Long> numbers = new HashMap<>();
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(TASKS)) {
            for (Path thread : threads) {
                try {
                    numbers.put(thread, reader.read(thread));
                } catch (NoSuchFileException ended) {
                    continue;
                }
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        return numbers;
    }

    private static long growth(Map<Path, Long> before, Map<Path, Long> now) {
        long sum = 0;
        for (Map.Entry<Path, Long> thread : now.entrySet())
            sum += thread.getValue() - before.getOrDefault(thread.getKey(), 0L);
        return sum;
    }

    private static long statusNumber(Path file, String name) throws IOException {
        for (String line : Files.readAllLines(file)) {
            if (line.startsWith(name + ":"))
                return Long.parseLong(line.substring(name.length() + 1).replace("kB", "").trim());
        }
        throw new FailedException(file + ": no " + name);
    }

    static long residentBytes() throws IOException {
        return statusNumber(Path.of("/proc/self/status"), "VmRSS") * 1024;
    }

    /**
     * Measures what the process uses from its creation until it is stopped. Reading /proc takes
     * time itself, and that time is left out: the time of the calling thread comes from the
     * thread's processor clock, which is read last at the beginning and first at the end, and the
     * switches are read next to it. (The JVM knows the time of the process only in hundredths of a
     * second.)
     */
    static final class Usage {
        private final Path self = Path.of("/proc/thread-self").toRealPath().getFileName();
        private final Map<Path, Long> othersBefore = othersNs();
        private final Map<Path, Long> switchesBefore = switchesNow();
        private final long selfBeforeNs = THREADS.getCurrentThreadCpuTime();
        private long cpuNs;
        private long switches;

        Usage() throws IOException {
        }

        Usage stop() {
            cpuNs = THREADS.getCurrentThreadCpuTime() - selfBeforeNs;
            switches = growth(switchesBefore, switchesNow());
            cpuNs += growth(othersBefore, othersNs());
            return this;
        }

        private Map<Path, Long> othersNs() {
            return ofThreads(thread -> thread.endsWith(self) ? 0L : runNs(thread));
        }

        private static long runNs(Path thread) throws IOException {
            return Long.parseLong(Files.readString(thread.resolve("schedstat")).split(" ")[0]);
        }

        private static Map<Path, Long> switchesNow() {
            return ofThreads(
                    thread -> statusNumber(thread.resolve("status"), "voluntary_ctxt_switches"));
        }

        double cpuSeconds() {
            return cpuNs / 1e9;
        }

        /** Returns the voluntary context switches. */
        long switches() {
            return switches;
        }
    }
}
