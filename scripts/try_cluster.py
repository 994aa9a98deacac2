#!/usr/bin/env python3
"""try_cluster.py PROGRAM [--partitions P] [--port N] [--directory DIR]: a whole cluster on this machine,
to try it: three PostgreSQL servers, as scripts/cluster.py starts them, and three nodes of the program
elapse, n1 to n3, which listen on loopback at N and the two ports after it (11301 unless given). All of
them end with this program.

Lines on standard input are commands; `help` lists them.
"""

import argparse
import os
import signal
import subprocess
import sys

import cluster

QUEUE_LEASE = "2s"
NODES = 3
STOP_S = 10

HOW_TO = """\
Three PostgreSQL servers, 0 to 2, and three nodes, n1 to n3. Any node takes any command. From another
terminal:

    redis-cli -p {first} PUT tea "water boils" IN 5s KEY kettle
    redis-cli -p {second} RESERVE tea WAIT 10s
    {program} cluster status --cluster '{hosts}'
    psql '{primary}'

Here, for example: `kill n1` (another node takes over), `start n1`; `kill 0` and `promote 1` (another
server takes writes, and server 2 follows it), `rebuild 0 1`. `help` lists all commands; `quit` or Ctrl-C
ends everything.
"""

HELP_OF_NODES = """\
  kill nN, stop nN   end a node, at once or by SIGTERM; start nN starts it again
  freeze nN, thaw nN stop its process where it is, and continue it
  log nN             print the last lines of its log
"""


class Node:
    """A node: its data and its log are in its directory."""

    def __init__(self, program, directory, port, hosts):
        self.program = program
        self.directory = directory
        self.port = port
        self.hosts = hosts
        self.process = None

    @property
    def name(self):
        return self.directory.name

    def start(self):
        if self.process is not None and self.process.poll() is None:
            return
        self.directory.mkdir(exist_ok=True)
        address = f"127.0.0.1:{self.port}"
        command = [self.program, "serve", "--data", self.directory / "data", "--listen", address,
                   "--node", self.name, "--segment-bits", "20"]
        for host in self.hosts:
            command += ["--cluster", host]
        # A session of its own: Ctrl-C is for this program, which ends the nodes first.
        with open(self.directory / "log", "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(["setpriv", "--pdeathsig=KILL", "--", *map(str, command)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        cluster.wait_until(lambda: self.is_ready(begin), f"{self.name} is ready")

    def is_ready(self, begin):
        if self.process.poll() is not None:
            raise cluster.Failure(f"{self.name} has ended: {' | '.join(self.log_lines()[-2:])}")
        with open(self.directory / "log", "rb") as log:
            log.seek(begin)
            return b" ready: " in log.read()

    def log_lines(self):
        return (self.directory / "log").read_text(errors="replace").splitlines()

    def signal(self, number):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self):
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        self.wait()

    def wait(self):
        if self.process is None:
            return
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def log(self):
        print("\n".join(self.log_lines()[-10:]))


def make_queue(program, servers, partitions):
    done = subprocess.run([program, "cluster", "create", "--cluster", servers[0].host, "--partitions",
                           str(partitions), "--lease", QUEUE_LEASE], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise cluster.Failure(done.stderr.strip())


def obey(servers, nodes, words):
    """Runs a command. Returns whether to go on."""
    by_name = {node.name: node for node in nodes}
    if len(words) == 2 and words[1] in by_name and words[0] in ("kill", "stop", "start", "freeze",
                                                                "thaw", "log"):
        getattr(by_name[words[1]], words[0])()
        return True
    goes_on = cluster.obey(servers, words)
    if words[0] == "help":
        print(HELP_OF_NODES, end="")
    return goes_on


def read_commands(servers, nodes):
    for line in sys.stdin:
        try:
            if line.strip() and not obey(servers, nodes, line.split()):
                return
        except (cluster.Failure, IndexError, ValueError) as failure:
            print(f"failed: {failure}")
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program elapse, with clusters")
    parser.add_argument("--partitions", type=int, default=1, help="of the queue (1)")
    parser.add_argument("--port", type=int, default=11301, help="of the first node (11301)")
    parser.add_argument("--directory", help="where all is (a new one, removed at the end)")
    arguments = parser.parse_args()
    if cluster.folder_of_programs() is None:
        sys.exit("try_cluster.py: PostgreSQL is not installed: the package postgresql")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    program = os.path.abspath(arguments.program)
    servers = cluster.Servers(arguments.directory)
    nodes = []
    try:
        servers.start()
        make_queue(program, servers, arguments.partitions)
        nodes = [Node(program, servers.directory / f"n{number + 1}", arguments.port + number,
                      servers.hosts()) for number in range(NODES)]
        for node in nodes:
            node.start()
        hosts = f"host={','.join(str(server.directory) for server in servers.list)}" \
                f" user={cluster.SUPERUSER} dbname=postgres"
        print(HOW_TO.format(first=nodes[0].port, second=nodes[1].port, program=arguments.program,
                            hosts=hosts, primary=servers[0].host), flush=True)
        read_commands(servers, nodes)
    except cluster.Failure as failure:
        sys.exit(f"try_cluster.py: {failure}")
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for node in nodes:
            node.signal(signal.SIGCONT)
            node.signal(signal.SIGTERM)
        for node in nodes:
            node.wait()
        servers.end()


if __name__ == "__main__":
    main()
