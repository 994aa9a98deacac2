#!/usr/bin/env python3
"""in_cluster.py COMMAND...: runs a test of a package with a cluster: three servers of PostgreSQL, and three nodes
of the program that ELAPSE_PROGRAM names. It ends with the status of the test, or with 77 if PostgreSQL is not
installed.

The test finds in its environment

    ELAPSE_CLUSTER          the addresses of the nodes, with commas between them
    ELAPSE_CLUSTER_CONTROL  an address of loopback that takes lines: `kill` ends the node that owns the queue by
                            SIGKILL, starts it again once another one is the owner, and answers `killed PORT`
    ELAPSE_CLUSTER_DATABASE the directory of the socket of the server that is the primary; its database is postgres,
                            its user elapse, and the inbox, for the queue main, is there
"""

import os
import pathlib
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
for folder in ("scripts", "tests/support", "tests/server/resp"):
    sys.path.insert(0, str(ROOT / folder))

import cluster  # noqa: E402
import server_process  # noqa: E402
import serving  # noqa: E402

NODES = 3
LEASE = "2s"


class Node:
    """A node that keeps its port, however often it is started."""

    def __init__(self, directory, hosts):
        directory.mkdir()
        self.log = directory / "log"
        self.arguments = ["--data", str(directory / "data"), "--segment-bits", "20"]
        for host in hosts:
            self.arguments += ["--cluster", host]
        self.port = 0
        self.start()

    def start(self):
        self.process = server_process.ServerProcess(
            self.log, ["--listen", f"127.0.0.1:{self.port}", *self.arguments])
        self.port = self.process.wait_for_port()

    def owns(self):
        """Whether the node owns the queue. One that does not answer does not."""
        try:
            with serving.Connection(self.port) as connection:
                return "partitions_here:1" in connection.ask("INFO").splitlines()
        except (OSError, EOFError):
            return False


class Nodes:
    def __init__(self, directory, hosts):
        self.list = [Node(directory / f"node{number}", hosts) for number in range(NODES)]

    def owner(self):
        return cluster.wait_until(lambda: next((node for node in self.list if node.owns()), None), "a node owns the queue")

    def kill_owner(self):
        node = self.owner()
        node.process.kill()
        self.owner()
        node.start()
        return node.port

    def end(self):
        for node in self.list:
            node.process.kill()


class Control(socketserver.StreamRequestHandler):
    """A connection of the test."""

    def handle(self):
        for line in self.rfile:
            answer = f"killed {self.server.nodes.kill_owner()}" if line.strip() == b"kill" else "what?"
            self.wfile.write(answer.encode() + b"\n")


def run(command):
    servers = cluster.Servers()
    nodes = None
    try:
        servers.start()
        where = [word for host in servers.hosts() for word in ("--cluster", host)]
        subprocess.run([server_process.PROGRAM, "cluster", "create", "--lease", LEASE, *where], check=True,
                       stdout=subprocess.DEVNULL)
        servers.primary.sql((ROOT / "sql/inbox.sql").read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory(prefix="elapse-nodes-") as directory, \
                socketserver.TCPServer(("127.0.0.1", 0), Control) as control:
            nodes = control.nodes = Nodes(pathlib.Path(directory), servers.hosts())
            nodes.owner()
            threading.Thread(target=control.serve_forever, daemon=True).start()
            addresses = ",".join(f"127.0.0.1:{node.port}" for node in nodes.list)
            os.environ.update(ELAPSE_CLUSTER=addresses, ELAPSE_CLUSTER_DATABASE=str(servers.primary.directory),
                              ELAPSE_CLUSTER_CONTROL=f"127.0.0.1:{control.server_address[1]}")
            return subprocess.run(command, check=False).returncode
    finally:
        if nodes is not None:
            nodes.end()
        servers.end()


def main():
    if cluster.folder_of_programs() is None:
        print("skipped: PostgreSQL is not installed (the package postgresql)")
        return server_process.SKIPPED
    # The servers end with this program, also when it is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
