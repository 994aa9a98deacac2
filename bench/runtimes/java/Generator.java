/** splitmix64, by Sebastiano Vigna. */
final class Generator {
    static final long SEED = 12345;

    private long state;

    Generator(long seed) {
        state = seed;
    }

    private long draw() {
        state += 0x9e3779b97f4a7c15L;
        long mixed = state;
        mixed = (mixed ^ mixed >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }

    /** Returns a random number in [0, bound). */
    long below(long bound) {
        long drawn = draw();
        /* The high half of the unsigned product. */
        return Math.multiplyHigh(drawn, bound) + (drawn >> 63 & bound);
    }
}
