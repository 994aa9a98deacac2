"""Runs a cluster on this machine: three servers of PostgreSQL, nodes of the server, and, if wanted, a proxy
between each node and each server. A test can set clocks: each process reads the time from a file of its
own, by the library of the package libfaketime."""

import glob
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from load import ROOT
from proxy import Proxy

sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(ROOT / "tests/support"))

import cluster  # noqa: E402
from server_process import PROGRAM, ServerProcess, hold_port  # noqa: E402

QUEUE = "main"
PATIENCE_S = cluster.PATIENCE_S
wait_until = cluster.wait_until


def is_there(process):
    """Whether it runs; one that has ended may not have been waited for."""
    try:
        text = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def library_of_clocks():
    """None if it is not installed."""
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else None


class Clock:
    """The wall clock of one process: so many seconds ahead."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.set(0)
        self.path.chmod(0o644)

    def set(self, ahead_s):
        """In one step: a process may read it at any moment."""
        new = self.path.with_suffix(".new")
        new.write_text(f"{ahead_s:+d}\n", encoding="ascii")
        os.replace(new, self.path)

    def environment(self):
        return {"LD_PRELOAD": library_of_clocks(), "FAKETIME_TIMESTAMP_FILE": str(self.path),
                "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


class ClockedServer(cluster.Server):
    """A server of PostgreSQL with a clock of its own."""

    clock = None

    def start(self, waits=True):
        self.clock = self.clock or Clock(self.directory / "clock")
        command = cluster.as_user(self.directory, "postgres", "-D", self.data)
        # The library keeps what it shares under the account of the first program that it is in.
        place = command.index("--") + 1
        command[place:place] = ["env", *(f"{name}={value}"
                                         for name, value in self.clock.environment().items())]
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        self.is_frozen = False
        if waits:
            wait_until(self.answers, f"{self.name} answers")


class Databases:
    """The servers of PostgreSQL, of which one is the primary."""

    queue = QUEUE

    def __init__(self, directory, clocked=False):
        self.servers = cluster.Servers(directory)
        if clocked:
            self.servers.list = [ClockedServer(s.directory, s.name) for s in self.servers.list]
        self.list = self.servers.list
        self.primary = self.list[0]

    def start(self):
        self.primary = self.list[0]
        self.servers.start()

    def end(self):
        self.servers.end()

    def standbys(self):
        return [server for server in self.list if server is not self.primary]

    def rows(self, server=None):
        """By partition: (epoch, owner, address, last_group)."""
        text = (server or self.primary).sql(
            "select part, epoch, owner, address, last_group from elapse.partition"
            f" where queue = '{self.queue}' order by part;\n")
        rows = [line.split("|") for line in text.splitlines()]
        return {int(part): (int(epoch), owner, address, int(last))
                for part, epoch, owner, address, last in rows}

    def session(self, part):
        return f"elapse/{self.queue}/{part}"

    def waiting(self, part):
        """The process whose commit waits for a standby, or None."""
        text = self.primary.sql("select pid from pg_stat_activity where wait_event = 'SyncRep'"
                                f" and application_name = '{self.session(part)}' limit 1;\n")
        return int(text) if text else None

    # ---- what happens to them ----

    def received(self, server):
        """How far it has the log of the database."""
        return int(server.sql(
            "select greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0';\n"))

    def promote_best(self):
        """After the primary was killed: the standby that has the most, as the guide says."""
        best = max((s for s in self.list if s.process is not None), key=self.received)
        self.servers.promote(best)
        for server in self.list:
            if server is not best and server.process is not None:
                self.servers.repoint(server, best)
        self.primary = best

    def bring_back(self):
        """All of them run, and follow the primary."""
        for server in self.standbys():
            if server.process is None:
                self.servers.rebuild(server, self.primary)
        self.servers.wait_for_standbys(self.primary, len(self.list) - 1)

    def restart_all(self):
        processes = [process for server in self.list for process in server.processes()]
        for server in self.list:
            server.kill()
        # As long as a child is there, its server's shared memory is.
        wait_until(lambda: not any(map(is_there, processes)), "the servers have ended")
        for server in self.list:
            server.start(waits=False)
        for server in self.list:
            wait_until(server.answers, f"{server.name} answers")


class Node:
    """A node. It has the same address and directory in all its lives."""

    def __init__(self, number, directory, options, clock, program=PROGRAM):
        self.number, self.directory, self.program = number, pathlib.Path(directory), program
        self.options, self.clock = options, clock
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port, self.port_holder = hold_port()
        self.life = 0
        self.server = None
        self.is_frozen = False
        self.was_killed = False

    def start(self):
        self.life += 1
        self.was_killed = False
        listen = f"127.0.0.1:{self.port}"
        environment = {**os.environ, **(self.clock.environment() if self.clock else {})}
        self.server = ServerProcess(
            self.directory / f"log-{self.life}",
            ["--data", str(self.directory / "data"), "--listen", listen, *self.options],
            program=(self.program, "serve"), before=("setpriv", "--pdeathsig=KILL", "--"), env=environment)

    def wait_until_ready(self):
        if self.server.wait_for_port() != self.port:
            raise AssertionError(f"node {self.number} listens elsewhere: {self.log()[-600:]}")

    @property
    def runs(self):
        return self.server is not None and self.server.process.poll() is None

    def log(self):
        return self.server.text()

    def signal(self, number):
        self.server.process.send_signal(number)

    def freeze(self):
        self.signal(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self):
        if self.is_frozen:
            self.signal(signal.SIGCONT)
        self.is_frozen = False

    def kill(self):
        if self.server is not None:
            self.server.kill()
        self.is_frozen = False
        self.was_killed = True


def last_line(node):
    lines = node.log().strip().splitlines()
    return lines[-1][-90:] if lines else ""


class Cluster:
    """All together. `loop` is the thread of the proxies. `followers`: of each partition; 0: all other nodes.
    `program`: the one of the nodes at the beginning, which also makes the queue."""

    def __init__(self, directory, loop, partitions, lease_ms, nodes=3, proxied=False, clocked=False,
                 options=(), followers=0, program=PROGRAM):
        self.directory, self.program = pathlib.Path(directory), program
        self.loop, self.partitions, self.lease_ms = loop, partitions, lease_ms
        self.lease_s = lease_ms / 1000
        self.databases = Databases(self.directory / "databases", clocked)
        self.proxies = []
        self.nodes = []
        self.node_count, self.proxied, self.clocked = nodes, proxied, clocked
        self.followers = followers
        self.options = tuple(options)
        if followers or program == PROGRAM:  # an older one does not know the option
            self.options += ("--followers", str(followers or "all"))

    # ---- beginning and ending ----

    def start(self, before_nodes=None):
        """`before_nodes` is called when the tables are there."""
        self.databases.start()
        self.create()
        if before_nodes is not None:
            before_nodes()
        for _ in range(self.node_count):
            self.add_node()
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait_until_ready()
        self.wait_for_owners()

    def add_node(self):
        """Makes a node that is not started yet, and returns it."""
        i = len(self.nodes)
        clock = Clock(self.directory / f"clock-{i}") if self.clocked else None
        options = [word for host in self.hosts_of(i) for word in ("--cluster", host)]
        options += ["--queue", self.databases.queue, *self.options]
        self.nodes.append(Node(i, self.directory / f"n{i}", options, clock, self.program))
        return self.nodes[-1]

    def hosts_of(self, number):
        servers = self.databases.list
        if not self.proxied:
            return [server.host for server in servers]
        mine = [Proxy(str(self.directory / f"p{number}" / server.name), str(server.directory))
                for server in servers]
        for proxy in mine:
            self.loop.run(proxy.start())
        self.proxies.append(mine)
        return [proxy.host for proxy in mine]

    def create(self):
        """Makes the tables, as an operator does."""
        self.command("create", "--partitions", self.partitions, "--lease", f"{self.lease_ms}ms")

    def command(self, verb, *arguments):
        """Runs `elapse cluster`, which has to succeed."""
        words = (self.program, "cluster", verb, *map(str, arguments), "--cluster", self.databases.primary.host,
                 "--queue", self.databases.queue)
        done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise AssertionError(f"elapse cluster {verb}: {done.stderr or done.stdout}")

    def end(self):
        for node in self.nodes:
            node.kill()
            node.port_holder.close()
        for proxy in [proxy for mine in self.proxies for proxy in mine]:
            self.loop.run(proxy.stop())
        self.databases.end()

    # ---- who owns what ----

    def node_at(self, address):
        port = int(re.search(r":(\d+)$", address).group(1)) if address else None
        return next((node for node in self.nodes if node.port == port), None)

    def owner_of(self, part):
        row = self.databases.rows()[part]
        return self.node_at(row[2])

    def epochs(self):
        return {part: row[0] for part, row in self.databases.rows().items()}

    def wait_for_owners(self):
        """Returns the owner of each partition."""
        def all_owned():
            self.check_alive()
            rows = self.databases.rows()
            owners = {part: self.node_at(row[2]) for part, row in rows.items() if row[1]}
            is_whole = len(owners) == self.partitions and all(node is not None and node.runs for node in owners.values())
            return owners if is_whole else None
        return wait_until(all_owned, "each partition has an owner")

    def check_alive(self):
        for node in self.nodes:
            if not node.runs and not node.was_killed:
                raise AssertionError(f"node {node.number} has ended by itself with "
                                     f"{node.server.process.returncode}: {node.log()[-600:]}")

    def wait_for_another(self, part, epoch, limit_s=PATIENCE_S):
        """Waits until the partition is in a later epoch. Returns after how many seconds."""
        begun = time.monotonic()
        wait_until(lambda: self.epochs()[part] > epoch, "another owner", limit_s)
        return time.monotonic() - begun

    def proxy_of(self, node):
        """That between the node and the primary."""
        return self.proxies[node.number][self.databases.list.index(self.databases.primary)]
