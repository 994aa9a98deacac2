#!/usr/bin/env python3
"""cluster.py [--directory DIR] [--servers N]: a cluster of PostgreSQL servers on this machine, for
tests and for trying: one primary, with standbys of which any one must have a commit. They listen
on sockets in their directories and nowhere else, trust everybody on them, and end with this
program. What they store is not synced to the disk: it is for servers that are killed, not for
machines.

Lines on standard input are commands; `help` lists them. Tests use the class Servers.
"""

import argparse
import ctypes
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

PATIENCE_S = 60  # a machine may be slow: a limit that no run comes near
USER = "postgres"  # of the Debian package; PostgreSQL does not run as root
SUPERUSER = "elapse"
MEMORY = "/dev/shm"
MEMORY_FREE_BYTES = 4 << 30  # three servers need less than 1 GiB, and programs beside them some

SETTINGS = """
listen_addresses = ''
shared_buffers = 16MB
fsync = off
wal_level = replica
wal_keep_size = 64MB
hot_standby = on
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 100ms
wal_sender_timeout = 10s
wal_receiver_timeout = 10s
autovacuum = off
jit = off
log_min_messages = warning
"""


class Failure(Exception):
    pass


def folder_of_programs():
    """Where Debian has initdb and postgres, of the newest version; None: nowhere."""
    folders = [folder for folder in glob.glob("/usr/lib/postgresql/*/bin")
               if os.access(os.path.join(folder, "initdb"), os.X_OK)]
    folders.sort(key=lambda folder: int(folder.split("/")[-2]))
    return folders[-1] if folders else None


def wait_until(condition, what, limit_s=PATIENCE_S):
    """Waits until condition() is true, and returns what it returned."""
    end = time.monotonic() + limit_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"after {limit_s} s still not: {what}")
        time.sleep(0.005)


def as_user(directory, program, *arguments):
    """The command of a program of PostgreSQL that is killed if this program ends, however."""
    user = []
    if os.geteuid() == 0:
        account = pwd.getpwnam(USER)
        user = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--init-groups"]
    return ["env", "-C", str(directory), "LC_ALL=C", "setpriv", *user, "--pdeathsig=QUIT", "--",
            os.path.join(folder_of_programs(), program), *arguments]


def run(directory, program, *arguments):
    done = subprocess.run(as_user(directory, program, *arguments), capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failure(f"{program}: {done.stderr.strip()}")
    return done.stdout


class Server:
    """One server: its data and its socket are in its directory."""

    def __init__(self, directory, name):
        self.directory = pathlib.Path(directory)
        self.name = name
        self.process = None
        self.session = None  # of sql
        self.is_frozen = False

    @property
    def data(self):
        return self.directory / "data"

    @property
    def host(self):
        """How libpq connects to it."""
        return f"host={self.directory} user={SUPERUSER} dbname=postgres"

    # ---- its files ----

    def write_settings(self, names, primary):
        text = SETTINGS + f"cluster_name = '{self.name}'\n" \
            f"unix_socket_directories = '{self.directory}'\n" \
            f"synchronous_standby_names = '{names}'\n"
        if primary is not None:
            text += f"primary_conninfo = '{self.way_to(primary)}'\n"
        (self.data / "settings.conf").write_text(text, encoding="ascii")

    @staticmethod
    def way_to(primary):
        return "" if primary is None else f"host={primary.directory} user={SUPERUSER}"

    def become_standby(self):
        (self.data / "standby.signal").touch()

    # ---- its life ----

    def start(self, waits=True):
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(as_user(self.directory, "postgres", "-D", self.data),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.is_frozen = False
        if waits:
            wait_until(self.answers, f"{self.name} answers")

    def answers(self):
        """Whether it takes connections, as its lock file says."""
        if self.process.poll() is not None:
            raise Failure(f"{self.name} has ended: {self.log_end()}")
        lines = self.lock_file()
        return len(lines) > 7 and lines[0] == str(self.process.pid) and lines[7].strip() == "ready"

    def lock_file(self):
        try:
            return (self.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except OSError:
            return []

    def log_end(self):
        lines = (self.directory / "log").read_text(errors="replace").splitlines()
        return " | ".join(lines[-3:])

    def stop(self, how=signal.SIGINT):
        """SIGINT: disconnects its clients; it writes all it has. SIGQUIT: at once."""
        if self.process is None:
            return
        self.end_session()
        self.thaw()
        self.process.send_signal(how)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process = None

    def processes(self):
        """The server and its children, each of which is a group of processes of its own."""
        found = [self.process.pid]
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                text = pathlib.Path(path).read_text(encoding="ascii", errors="replace")
            except OSError:
                continue
            if int(text.rpartition(")")[2].split()[1]) == self.process.pid:
                found.append(int(path.split("/")[2]))
        return found

    def signal_all(self, number):
        for process in self.processes():
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def kill(self):
        """As if its machine had lost its power, except that what was written is there."""
        self.end_session()
        if self.process is None:
            return
        self.signal_all(signal.SIGKILL)
        self.process.wait()
        self.release_shared_memory()
        self.process = None
        self.is_frozen = False

    def release_shared_memory(self):
        """Removes the segment of a server that was killed, and could not do so itself."""
        try:
            segment = int(self.lock_file()[6].split()[1])
        except (IndexError, ValueError):
            return
        remove = 0  # IPC_RMID
        ctypes.CDLL(None).shmctl(segment, remove, None)

    def freeze(self):
        """Stops its processes where they are: it is there, and does not answer."""
        self.signal_all(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self):
        if self.process is not None and self.is_frozen:
            self.signal_all(signal.SIGCONT)
        self.is_frozen = False

    # ---- SQL ----

    def start_sql(self, text):
        """A session of its own that runs these statements, and goes on by its standard input."""
        command = [os.path.join(folder_of_programs(), "psql"), "-XAtq", "-F|", "-v",
                   "ON_ERROR_STOP=1", "-h", str(self.directory), "-U", SUPERUSER, "-d", "postgres",
                   "-f", "-"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        process.stdin.write(text)
        process.stdin.flush()
        return process

    def sql(self, text):
        """Runs statements, in one session as long as none fails, and returns what they print."""
        end = "=== end ==="
        text += f"\n\\echo {end}\n"
        if self.session is None:
            self.session = self.start_sql(text)
        else:
            self.session.stdin.write(text)
            self.session.stdin.flush()
        lines = []
        for line in self.session.stdout:
            if line.strip() == end:
                return "\n".join(lines)
            lines.append(line.rstrip("\n"))
        self.end_session()
        raise Failure(f"{self.name}: {' '.join(lines)}")

    def end_session(self):
        if self.session is not None:
            self.session.kill()
            self.session.communicate()
        self.session = None

    def set_names(self, names):
        """Sets synchronous_standby_names, and waits until sessions know."""
        self.sql(f"alter system set synchronous_standby_names = '{names}';\n")
        self.sql("select pg_reload_conf();\n")
        wait_until(lambda: self.sql("show synchronous_standby_names;\n") == names, "the new names")


def place_for_servers():
    """Where directories of servers are made that end with this program: in memory, if there is room.
    A copy of a server has a thousand files, which cost a busy disk seconds."""
    try:
        free_bytes = shutil.disk_usage(MEMORY).free
    except OSError:
        return None
    return MEMORY if free_bytes >= MEMORY_FREE_BYTES and os.access(MEMORY, os.W_OK) else None


class Servers:
    """The servers of a cluster. The first one is the primary at the beginning; `primary` is the one
    that was promoted last."""

    def __init__(self, directory=None, count=3):
        self.made = directory is None
        self.directory = pathlib.Path(directory or
                                      tempfile.mkdtemp(prefix="elapse-pg-", dir=place_for_servers()))
        self.names = "ANY 1 (" + ",".join(f"s{i}" for i in range(count)) + ")"
        self.list = [Server(self.directory / f"s{i}", f"s{i}") for i in range(count)]
        self.primary = self.list[0]

    def __getitem__(self, number):
        return self.list[number]

    def hosts(self):
        return [server.host for server in self.list]

    # ---- beginning and ending ----

    def give_to_user(self, path):
        if os.geteuid() == 0:
            account = pwd.getpwnam(USER)
            os.chown(path, account.pw_uid, account.pw_gid)

    def make_template(self):
        """A cluster that was never started. All servers are copies of it, and so one system."""
        template = self.directory / "template"
        if template.exists():
            return template
        self.directory.mkdir(exist_ok=True)
        os.chmod(self.directory, 0o755)
        self.give_to_user(self.directory)
        run(self.directory, "initdb", "--pgdata", template, f"--username={SUPERUSER}",
            "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--wal-segsize=1")
        with open(template / "postgresql.conf", "a", encoding="ascii") as file:
            file.write("include 'settings.conf'\n")
        return template

    def copy_data(self, source, server):
        shutil.rmtree(server.data, ignore_errors=True)
        server.directory.mkdir(exist_ok=True)
        self.give_to_user(server.directory)
        # cp keeps the owner, and runs as the owner.
        subprocess.run(["cp", "-a", "--reflink=auto", source, server.data], check=True)

    def start(self):
        """Starts all of them anew, as if nothing had been before."""
        self.stop()
        self.primary = self.list[0]
        template = self.make_template()
        for server in self.list:
            self.copy_data(template, server)
            server.write_settings(self.names, None if server is self.list[0] else self.list[0])
            if server is not self.list[0]:
                server.become_standby()
                self.give_to_user(server.data / "standby.signal")
            self.give_to_user(server.data / "settings.conf")
            server.start(waits=False)
        for server in self.list:
            wait_until(server.answers, f"{server.name} answers")
        self.wait_for_standbys(self.list[0], len(self.list) - 1)

    def stop(self):
        for server in self.list:
            server.kill()

    def end(self):
        self.stop()
        if self.made:
            shutil.rmtree(self.directory, ignore_errors=True)

    # ---- standbys ----

    def wait_for_standbys(self, primary, count):
        query = "select count(*) from pg_stat_replication where state = 'streaming';\n"
        wait_until(lambda: int(primary.sql(query)) >= count, f"{count} standbys stream")

    def promote(self, server):
        # A session that waits for it would hold up the replay that comes before it.
        server.sql("select pg_promote(wait => false);\n")
        wait_until(lambda: server.sql("select pg_is_in_recovery();\n") == "f", "promoted")
        self.primary = server

    def repoint(self, server, primary):
        """The standby follows another primary."""
        server.write_settings(self.names, primary)
        server.sql("select pg_reload_conf();\n")
        # The call returns before the server has read its settings.
        wait_until(lambda: server.sql("select current_setting('primary_conninfo');\n") == server.way_to(primary),
                   f"{server.name} has read its settings")

    def rebuild(self, server, primary):
        """The server becomes a standby from a new copy of the primary."""
        server.kill()
        shutil.rmtree(server.data, ignore_errors=True)
        run(server.directory, "pg_basebackup", "-h", primary.directory, "-U", SUPERUSER, "-D",
            server.data, "-c", "fast", "--no-sync")
        server.write_settings(self.names, primary)
        server.become_standby()
        self.give_to_user(server.data / "settings.conf")
        self.give_to_user(server.data / "standby.signal")
        server.start()


HELP = """\
  status             print each server's state
  sql N TEXT         run SQL on server N
  kill N, stop N     end it, at once or properly; start N starts it again
  freeze N, thaw N   stop its processes where they are, and continue them
  promote N          make a standby the primary, when the old one is down or frozen, and no other standby has
                     more; the others follow it. promote N anyway: whatever others have
  follow N PRIMARY   let a standby follow another primary
  rebuild N PRIMARY  make it a standby from a new copy of the primary
  names N TEXT       set synchronous_standby_names; nothing: a commit waits for nobody
  quit               end all of them
"""


def status(servers):
    query = "select pg_is_in_recovery(), current_setting('synchronous_standby_names'), " \
            "(select string_agg(application_name || ' ' || sync_state, ', ')" \
            " from pg_stat_replication);\n"
    for number, server in enumerate(servers.list):
        if server.process is None:
            print(f"{number}: down")
        elif server.is_frozen:
            print(f"{number}: frozen")
        else:
            in_recovery, names, standbys = server.sql(query).split("|")
            print(f"{number}: standby" if in_recovery == "t" else
                  f"{number}: primary, names \"{names}\", its standbys: {standbys or 'none'}")


def position(server):
    """How far its log is, when nothing more comes."""
    wait_until(lambda: server.sql("select count(*) from pg_stat_wal_receiver;\n") == "0", "its receiver has ended")
    return int(server.sql("select greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn;\n"))


def check_promotion(servers, number):
    """Fails unless the old primary confirms nothing more, and the standby can be asked."""
    winner, old = servers[number], servers.list.index(servers.primary)
    if winner is servers.primary:
        raise Failure(f"server {number} is the primary already" if winner.process is not None else
                      f"server {number} was the primary: `start {number}` makes it one again")
    if servers.primary.process is not None and not servers.primary.is_frozen:
        raise Failure(f"server {old} is the primary, and takes writes. First say `kill {old}`, `stop {old}` or"
                      f" `freeze {old}`")
    if winner.process is None or winner.is_frozen:
        raise Failure(f"server {number} is not there. First say `{'thaw' if winner.is_frozen else 'start'} {number}`")


def promote(servers, number, anyway):
    """As docs/guide/cluster.md does it by hand."""
    check_promotion(servers, number)
    old = servers.list.index(servers.primary)
    others = [place for place in range(len(servers.list)) if place not in (number, old)]
    away = [place for place in others if servers[place].process is None or servers[place].is_frozen]
    here = [place for place in others if place not in away]
    for place in (number, *here):
        servers.repoint(servers[place], None)  # it receives nothing more
    positions = {place: position(servers[place]) for place in (number, *here)}
    ahead = [place for place in here if positions[place] > positions[number]]
    if (ahead or away) and not anyway:
        for place in (number, *here):
            servers.repoint(servers[place], servers.primary)
        best = ahead[0] if ahead else away[0]
        verb = "promote" if ahead else "thaw" if servers[best].is_frozen else "start"
        raise Failure(f"server {best} {'has more of the log' if ahead else 'may have more of the log, and is not there'}:"
                      f" say `{verb} {best}`; or `promote {number} anyway`, which loses what"
                      " it alone has")
    servers.promote(servers[number])
    for place in here:
        if place not in ahead:
            servers.repoint(servers[place], servers[number])
            print(f"server {place} follows server {number}")
    for place in (old, *away, *ahead):
        print(f"server {place} comes back as its standby by `rebuild {place} {number}`")
    if len(here) == len(ahead):
        print("no standby follows it, so no commit is confirmed until one does")


def obey(servers, words):
    """Runs a command. Returns whether to go on."""
    server = servers[int(words[1])] if len(words) > 1 else None
    rest = words[2:]
    verb = words[0]
    if verb == "quit":
        return False
    if verb == "status":
        status(servers)
    elif verb == "sql":
        print(server.sql(" ".join(rest) + ";\n"))
    elif verb == "names":
        server.set_names(" ".join(rest))
    elif verb in ("kill", "stop", "start", "freeze", "thaw"):
        getattr(server, verb)()
    elif verb == "promote":
        promote(servers, int(words[1]), rest == ["anyway"])
    elif verb == "follow":
        servers.repoint(server, servers[int(rest[0])])
    elif verb == "rebuild":
        servers.rebuild(server, servers[int(rest[0])])
    else:
        print(HELP, end="")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", help="where they are (a new one, removed at the end)")
    parser.add_argument("--servers", type=int, default=3, help="how many (3)")
    arguments = parser.parse_args()
    if folder_of_programs() is None:
        sys.exit("cluster.py: PostgreSQL is not installed: the package postgresql")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    servers = Servers(arguments.directory, arguments.servers)
    try:
        servers.start()
        for number, server in enumerate(servers.list):
            print(f"{number}: psql '{server.host}'")
        print("help lists commands; quit ends it.", flush=True)
        for line in sys.stdin:
            try:
                if line.strip() and not obey(servers, line.split()):
                    break
            except (Failure, IndexError, ValueError) as failure:
                print(f"failed: {failure}")
            sys.stdout.flush()
    except Failure as failure:
        sys.exit(f"cluster.py: {failure}")
    except KeyboardInterrupt:
        pass
    finally:
        servers.end()


if __name__ == "__main__":
    main()
