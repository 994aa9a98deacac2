"""Runs PgBouncer of the package pgbouncer, in transaction mode, in front of a server of PostgreSQL."""

import os
import pathlib
import shutil
import subprocess

from postgres_support import cluster

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


class Pooler:
    """In a directory of its own, which the account of PostgreSQL can write."""

    def __init__(self, server):
        self.directory = pathlib.Path(server.directory) / "pooler"
        self.directory.mkdir(exist_ok=True)
        self.host = server.host.replace(f"host={server.directory}", f"host={self.directory}")
        settings = self.directory / "pgbouncer.ini"
        settings.write_text(f"""[databases]
* = host={server.directory} user={cluster.SUPERUSER}
[pgbouncer]
listen_addr =
listen_port = 5432
unix_socket_dir = {self.directory}
auth_type = any
pool_mode = transaction
logfile = {self.directory}/log
""", encoding="ascii")
        if os.geteuid() == 0:
            shutil.chown(self.directory, cluster.USER)
        self.process = subprocess.Popen(
            cluster.as_user(self.directory, PROGRAM, "-q", settings), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cluster.wait_until(lambda: list(self.directory.glob(".s.PGSQL.*")), "the pooler listens")

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory)
