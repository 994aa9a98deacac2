/** The contender cannot do this: exit status 3. */
final class CannotException extends RuntimeException {
    private static final long serialVersionUID = 1;

    CannotException(String message) {
        super(message);
    }
}
