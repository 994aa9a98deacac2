/** The command line. */
final class Options {
    private static final int TIMERS_MOST = 100_000_000;
    private static final int THREADS_MOST = 64;
    private static final int ROUNDS_MOST = 1000;
    private static final int TICK_US_MOST = 1_000_000;
    private static final double SECONDS_MOST = 1000;

    String workload = "";
    int timers = 1_000_000;
    int threads = 1;
    int rounds = 5;
    double seconds = 5;
    int tickUs = 1000;
    String latenessFile = "";

    /** Reads the arguments after the first, which is the contender's name. */
    static Options parse(String[] arguments) {
        Options options = new Options();
        for (int i = 1; i < arguments.length; i += 2) {
            if (i + 1 == arguments.length)
                throw new UsageException(arguments[i] + ": unknown, or without a value");
            options.set(arguments[i], arguments[i + 1]);
        }
        if (!options.workload.matches("S[1-6]"))
            throw new UsageException("--workload: S1 to S6, not \"" + options.workload + "\"");
        if (options.threads > options.timers)
            throw new UsageException("--threads: no more than timers, not " + options.threads);
        return options;
    }

    private void set(String option, String value) {
        switch (option) {
            case "--workload" -> workload = value;
            case "--timers" -> timers = whole(option, value, TIMERS_MOST);
            case "--threads" -> threads = whole(option, value, THREADS_MOST);
            case "--rounds" -> rounds = whole(option, value, ROUNDS_MOST);
            case "--seconds" -> seconds = seconds(option, value);
            case "--tick-us" -> tickUs = whole(option, value, TICK_US_MOST);
            case "--lateness" -> latenessFile = value;
            default -> throw new UsageException("unknown argument: " + option);
        }
    }

    private static int whole(String option, String value, int most) {
        if (value.matches("[0-9]{1,9}")) {
            int number = Integer.parseInt(value);
            if (number >= 1 && number <= most)
                return number;
        }
        throw new UsageException(option + ": 1 to " + most + ", not " + value);
    }

    private static double seconds(String option, String value) {
        if (value.matches("[0-9]{1,9}([.][0-9]{1,9})?")) {
            double number = Double.parseDouble(value);
            if (number > 0 && number <= SECONDS_MOST)
                return number;
        }
        throw new UsageException(
                option + ": above 0 and up to " + (int) SECONDS_MOST + ", not " + value);
    }
}
