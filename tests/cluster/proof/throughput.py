#!/usr/bin/env python3
"""throughput.py [--partitions 1,4,16] [--nodes 1,3] [--seconds S] [--minutes M] [--csv FILE]

Measures how many puts a second a cluster on this machine takes, and compares that with its floor. The
floor is a loop in C over libpq. It appends groups to the same tables with the same statements, one at a
time for each partition (bench/cluster): once with groups as large as those of the nodes, and once with
groups of 64 KiB. The three servers of PostgreSQL, the nodes and the load share all processors, and the
share of each is printed. A second line has what one put costs: bytes of WAL on the primary, bytes in the
groups, processor time of each part, and memory of the first node; and how many sessions the database has.

With --minutes the script does something else: for so long it cancels jobs and puts them anew at random.
Then it compares the disk space of the log in the database with the bytes of the live jobs, of the nodes'
files, of the groups that are needed, and of all groups that are there.

`cmake --preset bench` builds the loads, and --tools is its folder bench. ELAPSE_PROGRAM is the program.
"""

import argparse
import csv
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from load import ROOT, LoopThread
from nodes import Cluster, cluster

LEASE_MS = 10000
CONNECTIONS = 16
FIRST_STEP = 10**8    # keys of one load are apart from those of others
GROUP_BYTES = 65536
LIVE = 100_000
LOOK_S = 2.0
TRIES = 5
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")

# More than the tests of faults need.
DATABASE = {"shared_buffers = 16MB": "shared_buffers = 256MB", "wal_keep_size = 64MB":
            "wal_keep_size = 64MB\nmax_wal_size = 2GB\ncheckpoint_timeout = 1h"}


def settings(fsync):
    for old, new in DATABASE.items():
        cluster.SETTINGS = cluster.SETTINGS.replace(old, new)
    if fsync:
        cluster.SETTINGS = cluster.SETTINGS.replace("fsync = off", "fsync = on")


def processor_s(processes):
    total = 0.0
    for process in processes:
        try:
            text = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        # Of a server of PostgreSQL, with its children that have ended.
        total += sum(int(field) for field in text.rpartition(")")[2].split()[11:15])
    return total / TICKS_A_SECOND


class Usage:
    """Processor time of the parts, from one moment to another."""

    def __init__(self, it):
        self.it = it
        self.before, self.begun = self.now(), time.monotonic()

    def now(self):
        databases = self.it.databases
        return {
            "primary": processor_s(databases.primary.processes()),
            "standbys": processor_s([p for s in databases.standbys() for p in s.processes()]),
            "nodes_cpu": processor_s([n.server.process.pid for n in self.it.nodes]),
        }

    def shares(self):
        """Of one processor."""
        seconds = time.monotonic() - self.begun
        return {name: (after - self.before[name]) / seconds for name, after in self.now().items()}


class Loads:
    def __init__(self, tools, it):
        self.tools, self.it = tools, it

    def start(self, node, number, verb, **options):
        words = [os.path.join(self.tools, "server/elapse-bench-server-load"), str(node.port), verb,
                 "--first", str(1 + number * FIRST_STEP)]
        for name, value in options.items():
            words += ["--" + name.replace("_", "-"), str(value)]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def finish(self, load):
        out, err = load.communicate()
        if load.returncode != 0:
            raise cluster.Failure(f"the load ended with {load.returncode}: {err.strip()}")
        return json.loads(out)


def floor(tools, host, partitions, group_bytes, seconds):
    """What the bare loop does."""
    done = subprocess.run([os.path.join(tools, "cluster/elapse-bench-cluster-floor"), host,
                           str(partitions), str(group_bytes), str(seconds)],
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise cluster.Failure(done.stderr.strip())
    return json.loads(done.stdout)


def log_figures(it):
    """Groups of all partitions, and the disk of their tables in the primary."""
    primary, queue = it.databases.primary, it.databases.queue
    groups = sum(row[3] for row in it.databases.rows().values())
    disk = int(primary.sql(
        "select coalesce(sum(pg_total_relation_size(oid)), 0) from pg_class where relkind = 'r'"
        f" and relname like 'log\\_{queue}\\_%';\n"))
    return groups, disk


def log_bytes(it, is_needed="true"):
    """The bytes of the groups in the tables, and how many groups those are; of those groups alone
    for which the condition is true. A table may be dropped while they are counted."""
    for _ in range(TRIES - 1):
        try:
            return count_bytes(it, is_needed)
        except cluster.Failure:
            time.sleep(0.1)
    return count_bytes(it, is_needed)


def count_bytes(it, is_needed):
    primary, queue = it.databases.primary, it.databases.queue
    tables = primary.sql("select relname from pg_class where relkind = 'r'"
                         f" and relname like 'log\\_{queue}\\_%';\n").split()
    union = " union all ".join(
        f"select octet_length(bytes) as size, group_number, {table.split('_')[-2]} as part"
        f" from elapse.{table}" for table in tables)
    text = primary.sql(f"select coalesce(sum(size), 0), count(*) from ({union}) as all_of_them"
                       f" join elapse.partition using (part) where queue = '{queue}'"
                       f" and {is_needed};\n")
    size, count = text.split("|")
    return int(size), int(count)


def wal_position(it):
    return int(it.databases.primary.sql(
        "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint;\n"))


def sessions(it):
    """Those of the nodes, on the primary."""
    return int(it.databases.primary.sql(
        "select count(*) from pg_stat_activity where application_name like 'elapse/%';\n"))


def resident_bytes(node):
    text = pathlib.Path(f"/proc/{node.server.process.pid}/statm").read_text(encoding="ascii")
    return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Cost:
    """What puts cost, from one moment to another."""

    def __init__(self, it):
        self.it = it
        self.before = self.now()

    def now(self):
        return {"wal": wal_position(self.it), "memory": resident_bytes(self.it.nodes[0])}

    def of_each(self, count):
        return {f"{name}_a_put": round((after - self.before[name]) / max(1, count), 1)
                for name, after in self.now().items()}


def new_cluster(loop, partitions, node_count, options=(), followers=0, lease_ms=LEASE_MS):
    directory = tempfile.mkdtemp(prefix="elapse-throughput-")
    os.chmod(directory, 0o755)
    return Cluster(directory, loop, partitions, lease_ms, nodes=node_count, options=options, followers=followers)


def remove(it):
    it.end()
    shutil.rmtree(it.directory, ignore_errors=True)


# ---- puts ----


def puts(loop, options, partitions, node_count):
    it = new_cluster(loop, partitions, node_count)
    try:
        it.start()
        loads = Loads(options.tools, it)
        groups_before, _disk = log_figures(it)
        cost = Cost(it)
        usage = Usage(it)
        running = [loads.start(node, i, "put-key", connections=CONNECTIONS,
                               window=max(1, options.window // CONNECTIONS),
                               seconds=options.seconds)
                   for i, node in enumerate(it.nodes)]
        done = [loads.finish(load) for load in running]
        shares = usage.shares()
        groups, _disk = log_figures(it)
        size, count = log_bytes(it)
        mean = max(1, size // max(1, count))
        row = {"partitions": partitions, "nodes": node_count,
               "puts_a_second": round(sum(load["rate"] for load in done)),
               "p50_ms": max(load["p50_us"] for load in done) / 1000,
               "p99_ms": max(load["p99_us"] for load in done) / 1000,
               "groups_a_second": round((groups - groups_before) / options.seconds),
               "group_bytes": mean,
               "load": round(sum(load["cpu_s"] for load in done) / options.seconds, 2)}
        row |= {name: round(share, 2) for name, share in shares.items()}
        row |= {f"{name}_us": round(share / row["puts_a_second"] * 1e6, 2)
                for name, share in shares.items()}
        count = sum(load["rate"] for load in done) * options.seconds
        row |= cost.of_each(count) | {"group_bytes_a_put": round(size / count, 1),
                                      "sessions": sessions(it)}
        for node in it.nodes:
            node.kill()
        host = it.databases.primary.host
        for name, group_bytes in (("floor", mean), ("floor_64", GROUP_BYTES)):
            bare = floor(options.tools, host, partitions, min(group_bytes, 16 << 20),
                         options.seconds / 2)
            row |= {f"{name}_groups": round(bare["groups_a_second"]),
                    f"{name}_mb": round(bare["bytes_a_second"] / 1e6, 1),
                    f"{name}_p50_ms": bare["p50_us"] / 1000}
        row["mb"] = round(row["groups_a_second"] * mean / 1e6, 1)
        return row
    finally:
        remove(it)


def print_puts(row):
    print(f"P {row['partitions']}, {row['nodes']} nodes: {row['puts_a_second']} puts/s, "
          f"p50 {row['p50_ms']} ms, p99 {row['p99_ms']} ms; {row['groups_a_second']} groups/s of "
          f"{row['group_bytes']} bytes, {row['mb']} MB/s; floor of the same groups "
          f"{row['floor_groups']}/s, {row['floor_mb']} MB/s, p50 {row['floor_p50_ms']} ms; of 64 KiB "
          f"{row['floor_64_groups']}/s, {row['floor_64_mb']} MB/s. Processors: primary "
          f"{row['primary']}, standbys {row['standbys']}, nodes {row['nodes_cpu']}, load "
          f"{row['load']}", flush=True)
    print(f"  a put: {row['wal_a_put']} bytes of WAL, {row['group_bytes_a_put']} in the groups; "
          f"processor time, us: primary {row['primary_us']}, standbys {row['standbys_us']}, nodes "
          f"{row['nodes_cpu_us']}; {row['memory_a_put']} bytes of memory in the first node. "
          f"{row['sessions']} sessions", flush=True)


# ---- churn ----


def storage(it):
    """The bytes of the live jobs, and of the node's directory, as the first node counts them in its
    own partitions: it owns all of them."""
    words = b"*1\r\n$5\r\nSTATS\r\n"
    with socket.create_connection(("127.0.0.1", it.nodes[0].port), timeout=30) as link:
        link.sendall(words)
        text = b""
        while b"disk_full" not in text:
            text += link.recv(1 << 16)
    lines = text.decode().split("\r\n")
    return [int(lines[lines.index(name) + 1].lstrip(":")) for name in ("live_bytes", "log_bytes")]


class Disk:
    """What the log takes in the database, at one moment, beside what it must."""

    def __init__(self, it):
        self.live, self.directory = storage(it)
        self.needed, self.needed_groups = log_bytes(it, "group_number >= tail")
        self.bytes, self.groups = log_bytes(it)
        self.made_groups, self.disk = log_figures(it)

    def ratio(self):
        return self.disk / max(1, self.live)

    def __str__(self):
        sizes = {"live": self.live, "files of the node": self.directory,
                 "groups from the tails on": self.needed, "groups in the tables": self.bytes,
                 "disk of the tables": self.disk}
        text = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sizes.items())
        return (f"{self.made_groups} groups until now, {self.groups} in the tables, "
                f"{self.needed_groups} needed; MB: {text}: {self.ratio():.2f} times the live ones")


def middle(numbers):
    return sorted(numbers)[len(numbers) // 2]


def churn(loop, options, partitions):
    words = [] if options.segment_bits is None else ["--segment-bits", str(options.segment_bits)]
    it = new_cluster(loop, partitions, 1, words)
    try:
        it.start()
        loads = Loads(options.tools, it)
        load = loads.start(it.nodes[0], 0, "churn", live=options.live, window=options.window,
                           rate=options.rate, seconds=60 * options.minutes)
        end = time.monotonic() + 60 * options.minutes
        seen = []
        while load.poll() is None and time.monotonic() < end + 60:
            time.sleep(max(LOOK_S, options.minutes * LOOK_S / 2))
            seen.append(Disk(it))
            print(f"P {partitions}: {seen[-1]}", flush=True)
        done = loads.finish(load)
        late = seen[len(seen) // 2:]
        return {"partitions": partitions, "minutes": options.minutes, "rate": round(done["rate"]),
                "live_mb": round(late[-1].live / 1e6, 1),
                "directory_max": round(max(s.directory / s.live for s in late), 2),
                "needed_max": round(max(s.needed / s.live for s in late), 2),
                "disk_middle": round(middle([s.ratio() for s in late]), 2),
                "disk_max": round(max(s.ratio() for s in late), 2)}
    finally:
        remove(it)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", default="1,4,16")
    parser.add_argument("--nodes", default="1,3")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--window", type=int, default=4096,
                        help="commands under way for a node, over all its connections (4096)")
    parser.add_argument("--minutes", type=float, default=0, help="of churn")
    parser.add_argument("--rate", type=int, default=0, help="of the churn, a second (all it takes)")
    parser.add_argument("--live", type=int, default=LIVE, help="jobs of the churn")
    parser.add_argument("--segment-bits", type=int, help="of the node that is churned")
    parser.add_argument("--fsync", action="store_true", help="PostgreSQL syncs to the disk")
    parser.add_argument("--tools", default=str(ROOT / "build/bench/bench"))
    parser.add_argument("--csv")
    options = parser.parse_args()
    if cluster.folder_of_programs() is None:
        print("skipped: PostgreSQL is not installed (the package postgresql)")
        sys.exit(77)
    if not os.path.exists(os.path.join(options.tools, "cluster/elapse-bench-cluster-floor")):
        print(f"skipped: there are no loads in {options.tools}")
        sys.exit(77)
    settings(options.fsync)
    loop, rows = LoopThread(), []
    for partitions in map(int, options.partitions.split(",")):
        if options.minutes > 0:
            rows.append(churn(loop, options, partitions))
            print(rows[-1])
            continue
        for node_count in map(int, options.nodes.split(",")):
            row = puts(loop, options, partitions, node_count)
            rows.append(row)
            print_puts(row)
    loop.stop()
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
