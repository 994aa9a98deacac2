"""How long this process stood still, on a machine with much other work."""

import threading
import time


class Stalls:
    """Measures how long this process waits for a processor while it is within the block. What happened in time may be
    seen later by as much."""

    EVERY_S = 0.01

    def __enter__(self):
        self.seconds = 0.0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        before = time.monotonic()
        while not self.is_over.wait(self.EVERY_S):
            now = time.monotonic()
            self.seconds += max(0.0, now - before - 2 * self.EVERY_S)
            before = now

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
