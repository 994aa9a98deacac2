/**
 * What is raced: a facility that runs actions later. Made anew for each round, and closed after it.
 */
interface Facility {
    /**
     * Schedules an action that must never run (Race.neverRun). Any thread may call it. Returns the
     * handle.
     */
    Object scheduleFar(int number, long delayNs);

    /** Schedules an action that notes its lateness in the recorder, at this index. */
    void scheduleNote(Recorder recorder, int index, long deadlineNs, long delayNs);

    /** Cancels a far action; false if it was no longer pending. */
    boolean cancel(Object handle);

    /**
     * Returns once all that was scheduled lies where it is to wait, if scheduling itself only
     * queues it.
     */
    default void awaitPlaced() throws InterruptedException {
    }

    /**
     * Makes the facility let go of so many cancelled actions, or waits until it has. Returns how
     * many entries are left, which is 0 when all that were pending are cancelled.
     */
    long cascade(long cancelled) throws InterruptedException;

    /**
     * Does cancelling remove the entry without being asked to (cascade), or does it only mark it?
     */
    boolean unlinks();

    /** Ends the threads of the facility and drops what is pending. */
    void close() throws InterruptedException;
}
