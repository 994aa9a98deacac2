"""A PostgreSQL server for the tests of the inbox. It has a directory of its own and a unix socket there,
and ends with the test. If the test runs as root, the server runs as the user that the package makes.

If the server or psycopg2 is not installed, the import of this module ends the program with 77, which
means "skipped" to ctest.
"""

import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
LIMIT_S = 600    # of a test program: a signal ends it, and the server with it
PATIENCE_S = 60  # a machine may be slow: a limit that no run comes near
SOURCE = pathlib.Path(__file__).resolve().parents[3]
# Another one: that of mutants.py.
SCRIPT = pathlib.Path(os.environ.get("ELAPSE_INBOX_SCRIPT", SOURCE / "sql" / "inbox.sql"))
SYSTEM_PYTHON = "/usr/bin/python3"  # Debian's modules are those of its interpreter

try:
    import psycopg2
except ImportError:
    if sys.executable == SYSTEM_PYTHON or subprocess.run(
            [SYSTEM_PYTHON, "-c", "import psycopg2"], check=False, capture_output=True).returncode:
        print("skipped: psycopg2 is not installed (python3-psycopg2)")
        sys.exit(SKIPPED)
    os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B", *sys.argv])

SETTINGS = """
listen_addresses = ''
max_connections = 40
max_prepared_transactions = 2
shared_buffers = 16MB
fsync = off
autovacuum = off
timezone = 'UTC'
log_min_messages = warning
"""


def folder_of_programs():
    """Where Debian has initdb and postgres, of the newest version."""
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    folders.sort(key=lambda folder: int(folder.split("/")[-2]))
    return folders[-1] if folders else None


if folder_of_programs() is None or shutil.which("psql") is None:
    print("skipped: PostgreSQL is not installed (postgresql)")
    sys.exit(SKIPPED)


class PostgresServer:

    def __init__(self):
        signal.alarm(LIMIT_S)
        self.directory = tempfile.mkdtemp(prefix="elapse-inbox-")
        self.process = None
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def command(self, program, *arguments):
        """A command that ends at once if the test does, however that ends."""
        user = []
        if os.geteuid() == 0:
            user = ["--reuid=postgres", "--regid=postgres", "--init-groups"]
        return ["env", "-C", self.directory, "LC_ALL=C", "setpriv", *user, "--pdeathsig=QUIT", "--",
                os.path.join(folder_of_programs(), program), *arguments]

    def start(self):
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.directory, user.pw_uid, user.pw_gid)
        data = os.path.join(self.directory, "data")
        subprocess.run(self.command("initdb", "--pgdata", data, "--username=admin", "--auth=trust",
                                    "--encoding=UTF8", "--locale=C", "--no-sync"),
                       check=True, capture_output=True)
        with open(os.path.join(data, "postgresql.conf"), "a", encoding="ascii") as file:
            file.write(SETTINGS + f"unix_socket_directories = '{self.directory}'\n")
        with open(os.path.join(self.directory, "log"), "wb") as log:
            self.process = subprocess.Popen(self.command("postgres", "-D", data), stderr=log,
                                            stdout=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.connect("postgres").close()
                return
            except psycopg2.OperationalError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def connect(self, database, user="admin", autocommit=True):
        connection = psycopg2.connect(host=self.directory, dbname=database, user=user)
        connection.autocommit = autocommit
        return connection

    def make_database(self, name):
        connection = self.connect("postgres")
        with connection.cursor() as cursor:
            cursor.execute(f"create database {name}")
        connection.close()

    def has_database(self, name):
        connection = self.connect("postgres")
        with connection.cursor() as cursor:
            cursor.execute("select from pg_database where datname = %s", (name,))
            found = cursor.fetchone() is not None
        connection.close()
        return found

    def psql(self, database, *arguments, user="admin", **options):
        """Runs psql, which stops at the first error."""
        return subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.directory,
                               "-U", user, "-d", database, *arguments],
                              capture_output=True, text=True, check=False, **options)
