"""PostgreSQL as a queue of jobs: a cluster of its own in the directory of the contender.

A job is a row of one table: an id, a key that is unique if there is one, the due time, the body.
An index on the due time serves hand-outs: SELECT ... FOR UPDATE SKIP LOCKED inside an UPDATE, which
moves the due time on by the length of the lease and counts the attempt. A job is acknowledged by a
DELETE that names its id and its attempt, so that a worker whose lease is over changes nothing.
postgres_sql.c has the statements.

postgres-1, postgres-100 and postgres-1000 differ in how many jobs one statement changes: at most so
many, and never more than the window of the workload, which says how many jobs a client has at hand.
A statement gets them as arrays. It is one transaction, and its answer comes when the log is on the
disk: a group is durable as a whole, or not at all. A connection sends further statements before the
first is answered, by the pipeline mode of libpq, until the window is full. With a window of 1 all
three do the same. A worker acknowledges a batch in the transaction that asks for the next one.

Nobody says when a job is due, so workers ask: at once after a full batch, and else every POLL_MS.
Memory is that of all processes, and the shared buffers as far as they are resident. What the system
caches of its files does not count.
"""

import ctypes
import glob
import os
import pwd
import signal
import subprocess

import peers
import server

MEGABYTE = 1 << 20

# How the server is set up, and why. Where a row says nothing, it is the default.
SETTINGS = (
    ("listen_addresses", "''", "only the socket in its directory"),
    ("unix_socket_permissions", "0700", "for its user alone"),
    ("max_connections", "150", "the race has up to 101"),
    ("shared_memory_type", "sysv", "so that the system says how much of it is resident"),
    # What its manual and its users advise for a machine that serves nothing else.
    ("shared_buffers", "{quarter}MB", "a quarter of the memory"),
    ("effective_cache_size", "{three_quarters}MB", "what the system's cache may hold"),
    ("maintenance_work_mem", "256MB", "vacuum goes through the indexes once"),
    ("random_page_cost", "1.1", "a disk without a head that moves"),
    ("jit", "off", "no statement runs long enough to pay for it"),
    # An answer means that the change is on the disk.
    ("synchronous_commit", "on", "the default"),
    ("fsync", "on", "the default"),
    ("full_page_writes", "on", "the default: a page that was half written is mended"),
    ("wal_level", "minimal", "there is no replica"),
    ("max_wal_senders", "0", "as wal_level asks for"),
    ("wal_compression", "lz4", "of whole pages, after a checkpoint"),
    ("checkpoint_timeout", "15min", "fewer whole pages in the log"),
    ("max_wal_size", "4GB", "checkpoints by time, not by size"),
    ("min_wal_size", "1GB", "files of the log are used again, not made anew"),
    # Rows of a queue die all the time.
    ("autovacuum_naptime", "5s", "look often"),
    ("autovacuum_vacuum_cost_limit", "2000", "and clean fast"),
    # A queue that was empty when its statements were prepared: their plans must not be those of a
    # small table when a million jobs are in it.
    ("plan_cache_mode", "force_generic_plan", "plan once"),
    ("enable_seqscan", "off", "by the indexes, always"),
    ("enable_bitmapscan", "off", "which would not mark dead entries of an index"),
    ("enable_hashjoin", "off", "which would read the whole table"),
    ("enable_mergejoin", "off", "which would read the whole index"),
    ("enable_sort", "off", "the index on the due time has the order"),
)

# The log's first files are written with zeros before they are used. A server that has run for a
# while uses old ones again; so some of it is written, and the files are kept, before the race.
WARM_UP_MEGABYTES = 512

POLL_MS = 5


def folder_of_programs():
    """Where Debian has initdb and postgres, of the newest version."""
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    folders.sort(key=lambda folder: int(folder.split("/")[-2]))
    return folders[-1] if folders else None


def memory_megabytes():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MEGABYTE


def settings_text():
    memory = memory_megabytes()
    lines = [f"{name} = {value}  # {why}" for name, value, why in SETTINGS]
    return "\n".join(lines).format(quarter=memory // 4, three_quarters=memory * 3 // 4) + "\n"


def private_bytes(process):
    """The resident memory of a process without shared memory."""
    sizes = {}
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                if line.startswith("Pss"):
                    sizes[line.split(":")[0]] = int(line.split()[1]) * 1024
    except OSError:
        return 0
    return sizes.get("Pss", 0) - sizes.get("Pss_Shmem", 0)


class Postgres(peers.Peer):
    """One cluster in the directory of the contender, with its socket there.

    It does not run as root: then it is the user that the package makes."""

    program = "elapse-bench-server-postgres"
    verbs = frozenset(("put", "put-key", "put-now", "delete", "cancel", "reschedule", "story",
                       "heartbeat", "churn", "drain", "timers"))
    user = "postgres"
    batch = 1

    @classmethod
    def missing_programs(cls):
        return [] if folder_of_programs() else ["postgresql"]

    def versions(self):
        done = subprocess.run([os.path.join(folder_of_programs(), "postgres"), "--version"],
                              capture_output=True, text=True, check=False)
        return done.stdout.strip().replace("postgres (PostgreSQL)", "PostgreSQL")

    @property
    def address(self):
        return self.directory

    @property
    def data(self):
        return os.path.join(self.directory, "data")

    def as_user(self, program, *arguments):
        """A command that ends at once if the race does, however that ends."""
        user = []
        if os.geteuid() == 0:
            user = [f"--reuid={self.user}", f"--regid={self.user}", "--init-groups"]
        return ["env", "-C", self.directory, "LC_ALL=C", "setpriv", *user, "--pdeathsig=QUIT",
                "--", os.path.join(folder_of_programs(), program), *arguments]

    def make_cluster(self):
        if os.geteuid() == 0:
            user = pwd.getpwnam(self.user)
            os.chown(self.directory, user.pw_uid, user.pw_gid)
        done = subprocess.run(self.as_user("initdb", "--pgdata", self.data, "--username=elapse",
                                           "--auth=trust", "--encoding=UTF8", "--locale=C"),
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise server.Failure(f"initdb: {server.last_line(done.stderr)}")
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="ascii") as file:
            file.write(settings_text() + f"unix_socket_directories = '{self.directory}'\n")

    def command(self):
        return self.as_user("postgres", "-D", self.data)

    def start(self):
        """The first time the cluster is made."""
        is_new = not os.path.exists(self.data)
        if is_new:
            self.make_cluster()
        took_s = super().start()
        if is_new and not (self.prepare("setup") and
                           self.prepare("warm-up", count=WARM_UP_MEGABYTES)):
            raise server.Failure("the table could not be made")
        return took_s

    def start_load(self, verb, **options):
        options["batch"] = self.batch
        if verb == "timers":
            options.setdefault("poll_ms", POLL_MS)
        return super().start_load(verb, **options)

    # ---- the end ----

    def stop(self):
        """At once, without a last checkpoint: the directory goes as well."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        self.release_shared_memory()
        self.process = None

    def shared_memory(self):
        """The number of its segment, which the seventh line of a file says, or None."""
        try:
            with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
                return int(file.read().splitlines()[6].split()[1])
        except (OSError, IndexError, ValueError):
            return None

    def release_shared_memory(self):
        """Removes the segment of a server that was killed, and could not do so itself."""
        segment = self.shared_memory()
        if segment is not None:
            remove = 0  # IPC_RMID
            ctypes.CDLL(None).shmctl(segment, remove, None)

    # ---- what it takes ----

    def resident_bytes(self):
        """The memory of all processes, and the shared memory, once, even where no process that
        runs now has touched it."""
        own = sum(private_bytes(process) for process in self.processes())
        with open("/proc/sysvipc/shm", encoding="ascii") as file:
            names = file.readline().split()
            rows = [dict(zip(names, line.split())) for line in file]
        segment = str(self.shared_memory())
        return own + sum(int(row["rss"]) for row in rows if row["shmid"] == segment)


PROMISES = {"durable": True, "key": True, "leases": True, "early": False}


class Postgres1(Postgres):
    name = "postgres-1"
    batch = 1
    scale = 0.02
    promises = {**PROMISES, "note": "SKIP LOCKED; a transaction for each job"}


class Postgres100(Postgres):
    name = "postgres-100"
    batch = 100
    scale = 0.2
    promises = {**PROMISES, "note": "SKIP LOCKED; up to 100 jobs a statement and transaction"}


class Postgres1000(Postgres):
    name = "postgres-1000"
    batch = 1000
    scale = 0.3
    promises = {**PROMISES, "note": "SKIP LOCKED; up to 1000 jobs a statement and transaction"}


CONTENDERS = {kind.name: kind for kind in (Postgres1, Postgres100, Postgres1000)}
