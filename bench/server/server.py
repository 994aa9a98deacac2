"""What all contenders of the race have in common: a process or some, an address, a directory."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

PATIENCE_S = 60


class Failure(Exception):
    """A run that says nothing: one line about why."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children_of(process):
    """The process and all that it started, as far as they run."""
    found = [process]
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    found += children_of(int(child))
    except OSError:
        pass
    return found


def proportional_bytes(process):
    """The resident memory of a process; what it shares with others counts in part."""
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def work_of(process):
    """The processor time in ns of a process and all its threads, and its page faults."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return (0, 0)
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return ((int(fields[11]) + int(fields[12])) * tick_ns, int(fields[7]) + int(fields[9]))


class Server:
    """One contender on a directory of its own. Others derive from it."""

    name = "server"
    program = "elapse-bench-server-load"  # or several: see program_of
    verbs = frozenset()
    # What an acknowledgement and a hand-out mean; plots hatch the bars where one is missing.
    promises = {"durable": True, "key": True, "leases": True, "early": False, "note": ""}
    scale = 1.0      # of the counts of jobs, for contenders that would take too long
    fixed = {}       # options of every load
    limit_s = 1500   # of one load
    start_limit_s = PATIENCE_S

    def __init__(self, options, directory):
        self.options = options
        self.directory = str(directory)
        self.port = free_port()
        self.process = None

    # ---- what a contender says of itself ----

    @classmethod
    def missing_programs(cls):
        """Programs that have to be installed, and are not."""
        return [name for name in getattr(cls, "needed", ()) if shutil.which(name) is None]

    def can(self, verb):
        return verb in self.verbs

    def versions(self):
        return ""

    @property
    def address(self):
        return str(self.port)

    def program_of(self, _verb):
        return self.program

    # ---- its life ----

    def command(self):
        """The command line that starts it, in the foreground."""
        raise NotImplementedError

    def is_ready(self):
        """Whether the first command is answered."""
        raise NotImplementedError

    def start(self):
        """Starts it, and returns after how many seconds it answered."""
        begun = time.monotonic()
        with open(os.path.join(self.directory, "race.log"), "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)
        while not self.is_ready():
            if self.process.poll() is not None:
                raise Failure(f"{self.name} ended at its start: {self.last_words()}")
            if time.monotonic() - begun > self.start_limit_s:
                raise Failure(f"{self.name} did not answer within {self.start_limit_s} s")
            time.sleep(0.002)
        return time.monotonic() - begun

    def restart(self):
        """Starts it again after kill(). Returns the seconds until the first command is answered."""
        return self.start()

    def last_words(self):
        with open(os.path.join(self.directory, "race.log"), encoding="utf-8",
                  errors="replace") as log:
            return last_line(log.read())

    def stop(self):
        """Ends it; a server that does not want to is killed."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process = None

    def kill(self):
        """Kills all its processes with SIGKILL, and waits until they are gone."""
        for process in reversed(self.processes()):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    # ---- what it takes ----

    def processes(self):
        return [] if self.process is None else children_of(self.process.pid)

    def resident_bytes(self):
        return sum(proportional_bytes(process) for process in self.processes())

    def disk_bytes(self):
        total = 0
        for path in pathlib.Path(self.directory).rglob("*"):
            try:
                if path.is_file():
                    total += path.stat().st_blocks * 512
            except OSError:  # removed meanwhile
                pass
        return total

    def wait_for_rest(self, quiet_s=0.5, limit_s=20):
        """Waits until no file grows: some write ahead after their start."""
        last, since = self.disk_bytes(), time.monotonic()
        begun = since
        while time.monotonic() - since < quiet_s and time.monotonic() - begun < limit_s:
            time.sleep(0.05)
            now = self.disk_bytes()
            if now != last:
                last, since = now, time.monotonic()

    # ---- work ----

    def start_load(self, verb, **options):
        command = [os.path.join(self.options.tools, self.program_of(verb)), self.address, verb]
        for name, value in {**self.fixed, **options}.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace")

    def finish_load(self, load, limit_s=None):
        """The figures that the load prints."""
        try:
            out, err = load.communicate(timeout=limit_s or self.limit_s)
        except BaseException as error:
            load.kill()
            load.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failure(f"took longer than {limit_s or self.limit_s} s") from error
            raise
        if load.returncode != 0:
            raise Failure(f"status {load.returncode}: {last_line(err)}")
        try:
            return json.loads(out)
        except ValueError as error:
            raise Failure(f"printed no figures: {out[:60]!r}") from error

    def work(self):
        return tuple(map(sum, zip(*map(work_of, self.processes()))))

    def run(self, verb, **options):
        """The figures of the load, and what a command of it has cost the server."""
        before = self.work()
        figures = self.finish_load(self.start_load(verb, **options))
        if before and figures.get("count", 0) > 0:
            for name, least, most in zip(("server_ns", "server_faults"), before, self.work()):
                figures[name] = (most - least) / figures["count"]
        return figures


class SocketServer(Server):
    """A server of lines over TCP: it is ready when a line gets an answer."""

    hello = b"*1\r\n$4\r\nPING\r\n"
    welcome = b"+PONG"

    def is_ready(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as client:
                client.sendall(self.hello)
                return client.recv(64).startswith(self.welcome)
        except OSError:
            return False
