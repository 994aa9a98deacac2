"""What the tests of abuse share: a server whose memory is watched, and a well-behaved client whose
waiting is measured."""

import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "resp"))

import serving  # noqa: E402

MIB = 1 << 20
# Freed memory goes back to the system, so that resident memory is what the server uses.
MEMORY_IS_GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
SANITIZED = os.environ.get("ELAPSE_SANITIZED") == "1"  # memory says nothing then


class Server:
    """A server on a free port of loopback. `files`: so many descriptors, and no more."""

    def __init__(self, directory, *options, files=None):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.log_path = pathlib.Path(directory) / "log"
        self.data = pathlib.Path(directory) / "data"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [serving.PROGRAM, "serve", "--data", str(self.data), "--listen", "127.0.0.1:0",
                 *options],
                stdin=subprocess.DEVNULL, stderr=log, env=os.environ | MEMORY_IS_GIVEN_BACK,
                preexec_fn=None if files is None else limit)
        self.port = self.wait_for_port()

    def wait_for_port(self):
        end = time.monotonic() + serving.PATIENCE_S
        while b" ready: " not in self.log_path.read_bytes():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the server is not ready: " + self.log_path.read_text())
            time.sleep(0.005)
        found = serving.re.search(rb"listening: 127\.0\.0\.1:(\d+)", self.log_path.read_bytes())
        return int(found.group(1))

    def memory(self, name="VmRSS"):
        """Bytes of resident memory: now, or the most since forget_peak (VmHWM)."""
        with open(f"/proc/{self.process.pid}/status") as status:
            for line in status:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("the server has ended: " + self.log_path.read_text())

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def processor_s(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self):
        return serving.Connection(self.port)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(serving.PATIENCE_S)
        if status != 0:
            raise AssertionError(f"the server ended with {status}: {self.log_path.read_text()}")


@contextlib.contextmanager
def server(*options, files=None):
    with tempfile.TemporaryDirectory() as directory:
        running = Server(directory, *options, files=files)
        try:
            yield running
            running.stop()
        finally:
            running.process.kill()
            running.process.wait()


class Samples:
    """Milliseconds."""

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
