"""A server process of the tests: it is started, awaited until it is ready, and stopped. It listens on
a free port of loopback, which its log names. The log is a file, because nobody reads a pipe all the
time.

ELAPSE_PROGRAM names the program.
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time

PROGRAM = os.environ.get("ELAPSE_PROGRAM", "elapse")
FREE_PORT = ("--listen", "127.0.0.1:0")
PATIENCE_S = 60  # a machine may be slow: a limit that no run comes near
SKIPPED = 77     # what ctest takes for "skipped"


def hold_port():
    """Returns a free port of loopback, and a socket that keeps it: as long as the socket is open, the system gives the
    port to nobody who wants any. A server that is told this port can listen there, again and again."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder.getsockname()[1], holder


class ServerProcess:
    """`arguments` are those of `elapse serve`. `before` is a program that starts the server, such as
    strace. The rest goes to Popen."""

    def __init__(self, log_path, arguments, program=(PROGRAM, "serve"), before=(), **options):
        self.log_path = pathlib.Path(log_path)
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([*before, *program, *arguments], stderr=log,
                                            stdin=subprocess.DEVNULL, **options)

    def log(self):
        return self.log_path.read_bytes()

    def text(self):
        return self.log().decode(errors="replace")

    def wait_for(self, words):
        """Waits until the log has these words. Returns the log."""
        end = time.monotonic() + PATIENCE_S
        while words not in self.log():
            if self.process.poll() is not None or time.monotonic() > end:
                break
            time.sleep(0.002)
        log = self.log()
        if words not in log:
            raise AssertionError(f"the server does not say {words}:\n{self.text()}")
        return log

    def wait_for_port(self):
        found = re.search(rb"listening: 127\.0\.0\.1:(\d+)", self.wait_for(b" ready: "))
        return int(found.group(1))

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(PATIENCE_S)

    def stop(self):
        """Ends it by SIGTERM once it is ready: its status has to be 0. Returns the log."""
        self.wait_for(b"ready")
        self.signal(signal.SIGTERM)
        status = self.wait()
        if status != 0:
            raise AssertionError(f"the server ended with {status}:\n{self.text()}")
        return self.log()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
