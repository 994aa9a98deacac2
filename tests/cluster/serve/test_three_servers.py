"""Runs docs/guide/three_servers.md, line by line, on three machines. A machine is a set of namespaces: it has
a network, a name, processes and some folders of its own. Everything on it ends with its first process.

It needs root, and the package postgresql. Otherwise it is skipped, with a line.
"""

import atexit
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/guide/three_servers.md"
PROGRAM = pathlib.Path(os.environ.get("ELAPSE_PROGRAM", ROOT / "build/developer/elapse"))
NAMES = ("one", "two", "three")
SKIPPED = 77
PATIENCE_S = 120
# Folders that each machine has for itself. The page assumes that the packages have made them.
OWN = ("/etc/postgresql", "/var/lib/postgresql", "/run/postgresql", "/var/log/postgresql", "/root", "/etc/elapse",
       "/var/lib/elapse")


class Failure(Exception):
    pass


def say_skipped(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def look_for_needs():
    if os.geteuid() != 0:
        say_skipped("machines are namespaces, which root alone can make")
    for program in ("unshare", "nsenter", "ip", "openssl", "runuser", "pg_createcluster"):
        if shutil.which(program) is None:
            say_skipped(f"{program} is not installed")
    if not pathlib.Path("/usr/lib/postgresql/15").exists():
        say_skipped("the page is about PostgreSQL 15, which is not installed")
    if subprocess.run(["unshare", "--net", "--mount", "--uts", "--pid", "--ipc", "--fork", "true"], check=False,
                      capture_output=True).returncode != 0:
        say_skipped("no namespaces can be made here")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False, timeout=PATIENCE_S, **options)
    return done.returncode, done.stdout


def must(*command):
    status, said = run(*command)
    if status != 0:
        raise Failure(f"{' '.join(map(str, command))}: {said}")
    return said


class Machine:
    """The first process is one that sleeps; what is started later belongs to it."""

    def __init__(self, name):
        self.name = name
        self.holder = subprocess.Popen(["unshare", "--net", "--mount", "--uts", "--pid", "--ipc", "--fork",
                                        "--kill-child=SIGKILL", "--mount-proc", "sleep", str(10 * PATIENCE_S)],
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.end)
        children = pathlib.Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children")
        end = time.monotonic() + PATIENCE_S
        while not (found := children.read_text(encoding="ascii").split()) and time.monotonic() < end:
            time.sleep(0.01)
        self.first = int(found[0])
        while "sleep" not in pathlib.Path(f"/proc/{self.first}/comm").read_text(encoding="ascii"):
            time.sleep(0.01)

    def end(self):
        if self.holder.poll() is None:
            try:
                os.kill(self.first, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.holder.wait(PATIENCE_S)

    def command(self, text):
        return ["nsenter", f"--target={self.first}", "--net", "--mount", "--uts", "--pid", "--ipc", "env", "-i",
                f"HOSTNAME={self.name}", "LC_ALL=C", "HOME=/root", "PATH=/opt:/usr/sbin:/usr/bin:/sbin:/bin",
                "bash", "-euo", "pipefail", "-c", f"cd /root\n{text}"]

    def run(self, text):
        return run(*self.command(text))

    def must(self, text):
        status, said = self.run(text)
        if status != 0:
            raise Failure(f"on {self.name}:\n{text}\nends with status {status}:\n{said}\n{self.log_of_node()}")
        return said

    def log_of_node(self):
        return self.run("tail -n 20 /var/log/postgresql/elapse.log 2>/dev/null || true")[1]

    def give_folders(self, shared):
        """Makes what the packages make: folders, users, the first cluster of PostgreSQL."""
        for folder in OWN:
            if not pathlib.Path(folder).exists():
                os.makedirs(folder)
                atexit.register(remove_empty, folder)
        lines = [f"mount -t tmpfs -o mode=0755 tmpfs {folder}" for folder in OWN]
        lines += [f"hostname {self.name}", "ip link set lo up",
                  "mkdir -m 700 /root/tls", f"mount --bind {shared}/tls /root/tls",
                  f"mount --bind {shared}/passwd /etc/passwd", f"mount --bind {shared}/group /etc/group",
                  f"mount --bind {shared}/hosts /etc/hosts", "mount -t tmpfs tmpfs /opt",
                  f"cp {shared}/elapse /opt/elapse", "chmod 755 /opt/elapse",
                  "chown postgres:postgres /var/lib/postgresql /run/postgresql /var/log/postgresql",
                  "chown elapse:elapse /var/lib/elapse", "chmod 2775 /run/postgresql",
                  "mount -t tmpfs -o mode=1777 tmpfs /tmp",  # `shared` is in it, and needed no more
                  "pg_createcluster 15 main -- --no-sync", "pg_ctlcluster 15 main start"]
        self.must("\n".join(lines))

    def start_node(self):
        """What the unit of elapse-server does."""
        self.must("setsid -f runuser -u elapse -- elapse serve --config /etc/elapse/elapse.conf "
                  "</dev/null >/var/log/postgresql/elapse.log 2>&1")
        end = time.monotonic() + PATIENCE_S
        while self.run("grep -q ' ready: ' /var/log/postgresql/elapse.log")[0] != 0:
            if time.monotonic() > end:
                raise Failure(f"the node of {self.name} is not ready:\n{self.log_of_node()}")
            time.sleep(0.1)


def remove_empty(folder):
    try:
        os.rmdir(folder)
    except OSError:
        pass


def write_shared(folder):
    (folder / "tls").mkdir(mode=0o700)
    shutil.copy(PROGRAM, folder / "elapse")
    number = 64123
    for name, line in (("passwd", f"elapse:x:{number}:{number}::/var/lib/elapse:/usr/sbin/nologin\n"),
                       ("group", f"elapse:x:{number}:\n")):
        text = pathlib.Path("/etc", name).read_text(encoding="utf-8")
        text = "".join(old for old in text.splitlines(keepends=True) if not old.startswith("elapse:"))
        (folder / name).write_text(text + line, encoding="utf-8")
    hosts = "127.0.0.1 localhost\n" + "".join(f"10.7.0.{i + 1} {name}\n" for i, name in enumerate(NAMES))
    (folder / "hosts").write_text(hosts, encoding="ascii")


def join(machines):
    """Connects the machines by a bridge, which is a set of namespaces of its own."""
    switch = Machine("switch")
    switch.must("ip link add bridge type bridge\nip link set bridge up")
    for number, machine in enumerate(machines, start=1):
        switch.must(f"ip link add port{number} type veth peer name plug{number}\n"
                    f"ip link set port{number} master bridge up")
        # The number of a process is another one inside: the link is moved from the outside.
        must("nsenter", f"--target={switch.first}", "--net", "ip", "link", "set", f"plug{number}", "netns",
             str(machine.first))
        machine.must(f"ip address add 10.7.0.{number}/24 dev plug{number}\nip link set plug{number} up")
    return switch


def blocks():
    """The blocks of the page: where each runs, and its lines."""
    text = PAGE.read_text(encoding="utf-8")
    found = []
    for block in re.findall(r"(?s)```sh\n(.*?)```", text):
        first, _, lines = block.partition("\n")
        where = first.removeprefix("# on ")
        if where == first:
            raise Failure(f"a block does not say where it runs: {first}")
        found.append((NAMES if where == "each" else where.split(" and "), lines))
    return found


class Walk:
    """The blocks in their order. `renamed` is what a reader does whose other standby is ahead."""

    def __init__(self, machines):
        self.machines = {machine.name: machine for machine in machines}
        self.blocks = blocks()
        self.renamed = {}

    def rename(self, lines):
        if not self.renamed:
            return lines
        return re.sub(r"\b(two|three)\b(?=[ :,']|$)", lambda match: self.renamed[match[1]], lines)

    def next(self, having):
        """Runs the next block, which has to have these words. Returns what it prints, by machine."""
        where, lines = self.blocks.pop(0)
        if having not in lines:
            raise Failure(f"the next block has no {having}: {lines}")
        if self.renamed and len(where) == 1:
            where = [self.renamed[where[0]]]
        said = {}
        for name in where:
            if lines.startswith("systemctl enable --now elapse-server"):
                self.machines[name].start_node()
            else:
                said[name] = self.machines[name].must(self.rename(lines) if len(where) == 1 else lines)
        return said

    def repeat_next(self, having, until):
        """Runs a block again and again until it does what the page says."""
        where, lines = self.blocks.pop(0)
        if having not in lines:
            raise Failure(f"the next block has no {having}: {lines}")
        end = time.monotonic() + PATIENCE_S
        name = self.renamed.get(where[0], where[0])
        while True:
            status, said = self.machines[name].run(lines if not self.renamed else lines.replace("tls:three", f"tls:{name}"))
            if status == 0 and until in said:
                return said
            if time.monotonic() > end:
                raise Failure(f"on {name}:\n{lines}\nends with {status}:\n{said}\n{self.machines[name].log_of_node()}")
            time.sleep(0.5)


def expect(is_true, what):
    if not is_true:
        raise Failure(what)


def position(text):
    high, low = text.strip().splitlines()[-1].split("/")
    return int(high, 16) << 32 | int(low, 16)


def walk(machines):
    page = Walk(machines)
    page.blocks.pop(0)  # the packages, which are there
    page.next("openssl req -x509")
    page.next("/etc/postgresql/15/main/server.key")
    page.next("conf.d/elapse.conf")
    page.next("create role elapse")
    page.next("pg_basebackup")
    page.next("synchronous_standby_names")
    # The process of each standby reads the new names by itself, which may take longer than the page waits.
    said = page.repeat_next("pg_stat_replication", "two|quorum\nthree|quorum\n")
    expect(said.split() == ["two|quorum", "three|quorum"], f"the standbys are {said}")
    check_roles(machines[0])
    page.next("/etc/elapse/elapse.conf")
    page.next("cluster create")
    page.next("systemctl enable")
    page.repeat_next("elapse put", "scheduled")
    said = page.next("elapse list")
    expect(" ready " in said["three"], f"the job is not there: {said}")
    check_tls(machines)
    machines[0].end()
    page.next("set primary_conninfo = ''")
    said = page.next("pg_last_wal_receive_lsn")
    positions = {name: position(text) for name, text in said.items()}
    if positions["three"] > positions["two"]:
        page.renamed = {"two": "three", "three": "two"}
    page.next("pg_promote")
    page.next("set primary_conninfo = 'host=two")
    page.repeat_next("cluster status", " ready ")
    expect(not page.blocks, "the page has more blocks")


def check_roles(machine):
    """Neither role may do more than the page says."""
    said = machine.must("runuser -u postgres -- psql -At -c \"select rolname, rolsuper, rolcreaterole, rolcreatedb, "
                        "rolreplication from pg_roles where rolname in ('elapse', 'replicator') order by 1\"")
    expect(said.split() == ["elapse|f|f|f|f", "replicator|f|f|f|t"], f"the roles are {said}")


def check_tls(machines):
    """All sessions of other machines use TLS; a client without TLS, or with another authority, is refused."""
    said = machines[0].must("runuser -u postgres -- psql -At -c \"select count(*) filter (where not ssl), count(*) > 5 from "
                            "pg_stat_ssl join pg_stat_activity using (pid) where client_addr is not null\"")
    expect(said.strip() == "0|t", f"sessions without TLS, and all: {said}")
    for options in ("sslmode=disable", "sslmode=verify-full sslrootcert=/etc/ssl/certs/ca-certificates.crt"):
        status, said = machines[1].run("runuser -u elapse -- psql -c 'select 1' 'host=one dbname=shop user=elapse "
                                       f"passfile=/etc/elapse/pgpass {options}'")
        expect(status != 0, f"PostgreSQL takes {options}: {said}")
    for machine in machines:
        log = machine.must("cat /var/log/postgresql/elapse.log")
        expect("in plain text" not in log, f"{machine.name} sends passwords in plain text")


def main():
    look_for_needs()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="elapse-three-") as made:
        shared = pathlib.Path(made)
        shared.chmod(0o755)
        write_shared(shared)
        machines = [Machine(name) for name in NAMES]
        try:
            join(machines)
            for machine in machines:
                machine.give_folders(shared)
            walk(machines)
        finally:
            for machine in machines:
                machine.end()
    print(f"ok: the page was run in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except Failure as fault:
        sys.exit(f"FAILED: {fault}")
