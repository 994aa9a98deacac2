/** A check did not hold: exit status 1. */
final class FailedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    FailedException(String message) {
        super(message);
    }

    static void checkCount(String what, long count, long expected) {
        if (count != expected)
            throw new FailedException(what + ": " + count + ", not " + expected);
    }
}
