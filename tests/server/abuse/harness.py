"""What the tests of abuse share: a server whose memory is watched, and a well-behaved client whose waiting
times are measured."""

import contextlib
import os
import pathlib
import resource
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "resp"))

import serving  # noqa: E402
from serving import FREE_PORT, ServerProcess  # noqa: E402

MIB = 1 << 20
# Freed memory goes back to the system, so that resident memory is what the server uses.
MEMORY_IS_GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
SANITIZED = os.environ.get("ELAPSE_SANITIZED") == "1"  # then the memory is not compared


class Server(ServerProcess):
    """A server on a free port of loopback. It may have `files` descriptors, and no more."""

    def __init__(self, directory, *options, files=None):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.data = pathlib.Path(directory) / "data"
        super().__init__(pathlib.Path(directory) / "log",
                         ["--data", str(self.data), *FREE_PORT, *options],
                         env=os.environ | MEMORY_IS_GIVEN_BACK,
                         preexec_fn=None if files is None else limit)
        self.port = self.wait_for_port()

    def memory(self, name="VmRSS"):
        """Returns the bytes of resident memory: now, or the most since forget_peak (VmHWM)."""
        with open(f"/proc/{self.process.pid}/status") as status:
            for line in status:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("the server has ended: " + self.text())

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def processor_s(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self):
        return serving.Connection(self.port)


@contextlib.contextmanager
def server(*options, files=None):
    with tempfile.TemporaryDirectory() as directory:
        running = Server(directory, *options, files=files)
        try:
            yield running
            running.stop()
        finally:
            running.kill()


class Samples:
    """Measured times, in milliseconds."""

    def __init__(self):
        self.values = []

    def add(self, seconds):
        self.values.append(seconds * 1000)

    def at(self, part):
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))]

    def text(self):
        return f"{self.at(0.5):.2f} {self.at(0.99):.2f} {max(self.values):.2f}"


class Probe:
    """A client that behaves well: it puts a job that is due in a moment, waits for it, and
    acknowledges it."""

    AHEAD_MS = 5

    def __init__(self, server):
        self.connection = server.connect()

    def round(self, latency, lateness):
        begun = time.perf_counter()
        due_ms = int(time.time() * 1000) + self.AHEAD_MS
        answer = self.connection.ask("PUT", "probe", "p" * 100, "AT", due_ms)
        latency.add(time.perf_counter() - begun)
        assert answer[1] == "scheduled", answer
        jobs = self.connection.ask("RESERVE", "probe", "WAIT", "60s")
        late = time.time() - due_ms / 1000
        assert len(jobs) == 1 and jobs[0][0] == answer[0], jobs
        assert late >= 0, f"a job came {-late} s early"
        lateness.add(late)
        begun = time.perf_counter()
        assert self.connection.ask("ACK", jobs[0][0], jobs[0][1]) == ["ok"]
        latency.add(time.perf_counter() - begun)

    def close(self):
        self.connection.__exit__()
