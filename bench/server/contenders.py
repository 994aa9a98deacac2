"""The contenders of the race, as their own manuals advise to run them."""

import functools
import os
import re
import shutil
import socket
import subprocess

from server import Failure, Server, SocketServer

RESP_VERBS = frozenset(("put", "put-key", "put-now", "put-at", "delete", "cancel", "reschedule",
                        "story", "heartbeat", "drain", "timers", "churn"))
LINE_VERBS = frozenset(("put", "put-now", "delete", "story", "heartbeat", "drain", "timers",
                        "churn"))
# The Debian package of what a contender misses, where the names differ.
PACKAGES = {"elapse-bench-server-postgres": "libpq-dev",
            "elapse-bench-server-rabbitmq": "librabbitmq-dev"}
PROGRAMS = {"drain": "elapse-bench-server-drain", "timers": "elapse-bench-server-timers"}


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except OSError:
        return "unknown version"
    lines = (done.stdout + done.stderr).splitlines()
    return lines[0].strip() if lines else "unknown version"


class Ours(SocketServer):
    """A server to which the loads of this directory speak."""

    speech = "resp"

    def program_of(self, verb):
        return PROGRAMS.get(verb, "elapse-bench-server-load")

    def start_load(self, verb, **options):
        return super().start_load(verb, speech=self.speech, **options)


class Floor(Server):
    """What any server of durable puts has to do, and nothing else."""

    name = "floor"
    verbs = frozenset(("put",))
    promises = {"durable": True, "key": False, "leases": False, "early": False,
                "note": "a loop that writes and syncs puts in groups, and keeps no job"}
    fixed = {"speech": "beanstalkd"}

    def command(self):
        return [os.path.join(self.options.tools, "elapse-bench-server-floor"),
                os.path.join(self.directory, "floor")]

    def is_ready(self):
        with open(os.path.join(self.directory, "race.log"), encoding="ascii") as log:
            line = log.read()
        if line.endswith("\n"):
            self.port = int(line)
        return line.endswith("\n")


class Keeper(Floor):
    """The floor, and beside it what keeping a job in memory needs."""

    name = "keeper"
    promises = {**Floor.promises,
                "note": "the floor that keeps a job of 64 bytes, starts its timer, and checksums "
                        "its record"}

    def command(self):
        return [os.path.join(self.options.tools, "elapse-bench-server-keeper"),
                os.path.join(self.directory, "keeper")]


class Elapse(Ours):
    """Elapse; spoken to by RESP, unless a subclass says otherwise."""

    name = "elapse"
    verbs = RESP_VERBS
    durability = "sync"
    start_limit_s = 300

    def command(self):
        data = ["-b", os.path.join(self.directory, "data")] if self.durability != "memory" else []
        return [self.options.elapse, "serve", "-l", "127.0.0.1", "-p", str(self.port),
                "--durability", self.durability, *data]

    def versions(self):
        return first_line(self.options.elapse, "--version")

    def live_bytes(self):
        """Bytes of the journal that are still needed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as client:
            client.sendall(b"*1\r\n$5\r\nSTATS\r\n")
            words = b""
            while not (found := re.search(rb"live_bytes\r\n:(\d+)\r\n", words)):
                more = client.recv(1 << 16)
                if not more:
                    raise Failure("STATS has no live_bytes")
                words += more
        return int(found.group(1))


class ElapseLines(Elapse):
    """The same by the protocol of beanstalkd."""

    name = "elapse-lines"
    speech = "beanstalkd"
    verbs = frozenset(("put", "put-now", "delete", "drain"))
    promises = {**Elapse.promises, "key": False, "note": "by the protocol of beanstalkd"}


class ElapseInterval(Elapse):
    name = "elapse-50ms"
    durability = "interval=50"
    promises = {**Elapse.promises, "durable": False,
                "note": "--durability interval=50: a power cut loses the last 50 ms"}
    verbs = frozenset(("put", "put-now", "put-key", "delete", "story", "drain"))


class Beanstalkd(Ours):
    """beanstalkd -b: it syncs its file at most every 50 ms, and replies before."""

    name = "beanstalkd"
    speech = "beanstalkd"
    needed = ("beanstalkd",)
    verbs = LINE_VERBS
    hello = b"stats\r\n"
    welcome = b"OK"
    extra = ()
    promises = {"durable": False, "key": False, "leases": True, "early": False,
                "note": "-b: syncs every 50 ms, after its reply; cancels by id; whole seconds"}
    start_limit_s = 300

    def command(self):
        return ["beanstalkd", "-l", "127.0.0.1", "-p", str(self.port), "-b", self.directory,
                *self.extra]

    def versions(self):
        return first_line("beanstalkd", "-v")

    def run(self, verb, **options):
        if verb == "timers":  # a worker has one job at a time
            options["connections"] = 64
        return super().run(verb, **options)


class BeanstalkdSync(Beanstalkd):
    name = "beanstalkd-f0"
    extra = ("-f0",)
    scale = 0.03
    promises = {**Beanstalkd.promises, "durable": True,
                "note": "-b -f0: a sync for each job; cancels by id; whole seconds"}


class Redis(Ours):
    """Redis with a file that is appended to: a sorted set, a hash, and scripts."""

    name = "redis"
    speech = "redis"
    needed = ("redis-server",)
    verbs = RESP_VERBS - {"put-at"}
    policy = "always"
    start_limit_s = 300
    promises = {"durable": True, "key": True, "leases": False, "early": False,
                "note": "appendfsync always; a script takes jobs and deletes them before the work"}

    def command(self):
        return ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
                "--appendonly", "yes", "--appendfsync", self.policy, "--dir", self.directory]

    def versions(self):
        line = first_line("redis-server", "--version")
        found = re.search(r"v=(\S+)", line)
        return f"Redis {found.group(1)}" if found else line

    def run(self, verb, **options):
        if verb == "timers":  # one poller, each millisecond
            options["connections"] = 1
        return super().run(verb, **options)


class RedisEverySecond(Redis):
    name = "redis-1s"
    policy = "everysec"
    promises = {**Redis.promises, "durable": False,
                "note": "appendfsync everysec: replies before; a power cut loses a second or two"}


class RedisLease(Redis):
    name = "redis-lease"
    speech = "redis-lease"
    verbs = frozenset(("put-now", "drain", "timers"))
    promises = {**Redis.promises, "leases": True,
                "note": "appendfsync always; a second sorted set has the jobs in hand"}


KNOWN = {kind.name: kind for kind in (
    Floor, Keeper, Elapse, ElapseLines, ElapseInterval, Beanstalkd, BeanstalkdSync, Redis,
    RedisEverySecond, RedisLease)}


def add_module(name):
    """Adds the contenders of another file, if its Python is all there."""
    try:
        KNOWN.update(__import__(name).CONTENDERS)
    except ImportError as error:
        if error.name != name:
            raise


for module in ("postgres", "rabbitmq"):
    add_module(module)


def kind_of(name):
    """The class of a contender."""
    kind = KNOWN[name]
    return kind.func if isinstance(kind, functools.partial) else kind


def missing_of(name, options):
    """The programs that are not installed or not built."""
    missing = list(kind_of(name).missing_programs())
    program = kind_of(name).program
    if not os.access(os.path.join(options.tools, program), os.X_OK):
        missing.append(program)
    if name.startswith("elapse") and shutil.which(options.elapse) is None:
        missing.append(options.elapse)
    return missing


def promises_of(name):
    return kind_of(name).promises
