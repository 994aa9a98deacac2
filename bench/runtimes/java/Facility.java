/**
 * The facility of a contender: it runs actions later. Each round has a fresh one and closes it.
 */
interface Facility {
    /**
     * Schedules an action that must never run (Race.neverRun). Any thread may call it. Returns the
     * handle.
     */
    Object scheduleFar(int number, long delayNs);

    /** Schedules an action that notes its lateness in the recorder, at this index. */
    void scheduleNote(Recorder recorder, int index, long deadlineNs, long delayNs);

    /** Cancels a far action. Returns false if it was no longer pending. */
    boolean cancel(Object handle);

    /**
     * Returns when all scheduled actions are in their place, if scheduling itself only queues them.
     */
    default void awaitPlaced() throws InterruptedException {
    }

    /**
     * Makes the facility remove so many cancelled actions, or waits until it has. Returns how many
     * entries are left; 0 if all pending actions were cancelled.
     */
    long cascade(long cancelled) throws InterruptedException;

    /**
     * Returns whether cancelling removes the entry by itself. Otherwise it only marks it.
     */
    boolean unlinks();

    /** Ends the threads of the facility and drops the pending timers. */
    void close() throws InterruptedException;
}
