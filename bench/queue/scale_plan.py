#!/usr/bin/env python3
"""The plan for many machines, as arithmetic: each line is a formula of lines above it, and its value.

    scale_plan.py                       10^10 jobs and 10^7 events a second
    scale_plan.py --steps               three steps on the way there, beside each other
    scale_plan.py event_bytes=300 ...   with other constants

docs/guide/scale.md explains it. A constant is *measured* by ./dev bench --scale or by
tests/cluster/proof/throughput.py, taken from the *prototype* of the cluster, a *limit* of the code,
*chosen*, or a *guess*.
"""
import argparse
import math
import sys

# name, value, unit, kind, meaning
CONSTANTS = [
    ("jobs", 1e10, "", "chosen", "pending at a time"),
    ("events", 1e7, "/s", "chosen", "durable changes: put, cancel, hand-out, ack"),
    ("handed", 0.1, "", "chosen", "share of the jobs that come due; the others are cancelled"),
    ("put_bytes", 184, "B", "measured", "a put in the log: key of 8, body of 100"),
    ("cancel_bytes", 32, "B", "measured", "a cancel in the log"),
    ("hand_bytes", 128, "B", "measured", "a hand-out and its ack in the log"),
    ("job_memory", 104, "B", "measured", "a delayed job with a key"),
    ("open_time", 2.3, "us", "measured", "to open a queue of 10^8, for each job that was put"),
    ("queue_time", 3.2, "us", "measured", "processor time of an event, with 10^8 jobs: put 1.8, cancel 5.2"),
    ("log_factor", 2, "", "limit", "the log is at most so many times what lives"),
    ("queue_jobs", 2 ** 28 - 1, "", "limit", "jobs of one queue"),
    ("partition_rate", 188e3, "/s", "prototype", "one partition, the least of its runs"),
    ("cluster_rate", 463e3, "/s", "prototype", "three servers on two cores, the least of its runs"),
    ("commit_time", 1.9, "ms", "prototype", "a group, p50"),
    ("wal_factor", 1.1, "", "measured", "bytes of WAL for a byte of a group: 1.07 to 1.10"),
    ("server_time", 2.5, "us", "guess", "processor time of an event: sockets, forwarding, follower"),
    ("request_bytes", 130, "B", "guess", "of a command, the mean of put and cancel"),
    ("reply_bytes", 40, "B", "guess", ""),
    ("node_memory", 256e9, "B", "chosen", "of a machine that runs queues"),
    ("node_share", 0.7, "", "chosen", "of it that jobs may take; the rest is page cache"),
    ("node_cores", 32, "", "chosen", ""),
    ("node_disk", 2e9, "B/s", "chosen", "that it reads in order"),
    ("margin", 2, "", "chosen", "partitions are fixed at creation: room to grow"),
    ("lease", 5, "s", "chosen", "L of the take-over"),
    ("fail_years", 3, "years", "guess", "between two failures of a machine"),
]

# name, formula, unit, what it tells
LINES = [
    ("Load", None, None, None),
    ("puts", "events / (2 + handed)", "/s",
     "a job is put, and cancelled, or else handed out and acknowledged"),
    ("pending_time", "jobs / puts", "s", "how long a job waits, on average (Little's law)"),
    ("event_bytes",
     "(put_bytes + (1 - handed) * cancel_bytes + handed * hand_bytes) / (2 + handed)", "B",
     "of an event in the log"),
    ("log_rate", "events * event_bytes", "B/s", "of all logs together, before cleaning"),
    ("Partitions", None, None, None),
    ("by_jobs", "ceil(jobs / queue_jobs)", "", "so many at least, by the jobs of one queue"),
    ("by_rate", "ceil(events / partition_rate)", "", "and by the rate of one log"),
    ("partitions", "power_of_2(max(by_jobs, by_rate) * margin)", "", "fixed at creation"),
    ("partition_jobs", "jobs / partitions", "", ""),
    ("partition_events", "events / partitions", "/s", ""),
    ("group_records", "partition_events * commit_time", "", "records of a group"),
    ("group_bytes", "group_records * event_bytes", "B", "the prototype's had 64 KiB"),
    ("Machines that run queues", None, None, None),
    ("memory", "jobs * job_memory", "B", "of all owners"),
    ("nodes", "max(2, ceil(2 * memory / (node_memory * node_share)))", "",
     "each job is in two of them: owner and follower"),
    ("node_partitions", "partitions / nodes", "", "owned by each"),
    ("log_bytes", "jobs * put_bytes * log_factor", "B", "of all owners, at most"),
    ("node_log", "2 * log_bytes / nodes", "B", "on the disk of each, with what it follows"),
    ("node_files", "node_log / 64 MiB", "", "open files of each"),
    ("node_writes", "2 * log_rate * log_factor / nodes", "B/s", "with cleaning"),
    ("node_reads", "puts * handed / nodes", "/s", "bodies of jobs that are handed out"),
    ("node_writes_a_day", "node_writes * 86400", "B", "wear of the disk"),
    ("busy_cores", "events * (queue_time + server_time) / nodes", "", "of node_cores, each"),
    ("forwarded", "1 - 1 / nodes", "", "share of the commands that reach another node first"),
    ("node_receives",
     "events / nodes * ((1 + forwarded) * request_bytes + forwarded * reply_bytes + event_bytes)",
     "B/s", "commands, forwarded ones, replies to them, the log of a partition that it follows"),
    ("Clusters of PostgreSQL, three servers each", None, None, None),
    ("clusters", "ceil(events / cluster_rate)", "", ""),
    ("cluster_partitions", "partitions / clusters", "", ""),
    ("commits", "cluster_partitions / commit_time", "/s", "of a cluster, at most"),
    ("cluster_wal", "log_rate / clusters * wal_factor", "B/s", "that a primary writes"),
    ("cluster_sends", "3 * cluster_wal", "B/s", "two standbys, and the followers of its partitions"),
    ("cluster_log", "log_bytes / clusters * wal_factor", "B", "on each of its three disks"),
    ("tables", "cluster_partitions * (log_bytes / partitions) / (1024 * group_bytes)", "",
     "of the log in a cluster: one for each 1,024 groups"),
    ("tables_by_size", "cluster_log / 64 MiB", "", "if each had 64 MiB, however many groups"),
    ("databases", "3 * clusters", "", "machines, or shares of machines"),
    ("When something fails", None, None, None),
    ("restart", "partition_jobs * open_time * ceil(node_partitions / node_cores)", "s",
     "a node starts again: its partitions open side by side"),
    ("restart_reads", "node_log / 2 / node_disk", "s", "the same, as its disk allows"),
    ("take_over", "lease + 1", "s", "a node is gone: followers take its partitions"),
    ("stands_still", "1 / nodes", "", "share of the jobs that wait for that"),
    ("rebuild", "node_log / node_disk", "s", "a node that lost its disk reads the logs again"),
    ("failures", "(nodes + databases) / fail_years", "a year", ""),
    ("Numbers that run out", None, None, None),
    ("id_years", "2**53 / puts / year", "years", "job ids have 53 bits, for all partitions together"),
    ("position_years", "2**57 / (log_rate * log_factor / partitions) / year", "years",
     "positions in a log have 57 bits"),
    ("transaction_days", "200e6 / commits / 86400", "days",
     "PostgreSQL: from one vacuum against wrap-around to the next"),
]

STEPS = [(1e8, 1e5), (1e9, 1e6), (1e10, 1e7)]


def power_of_2(number):
    return 2 ** math.ceil(math.log2(number)) if number > 1 else 1


SCALES = {"B": [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")],
          "B/s": [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")],
          "s": [(60 * 60, "h"), (60, "min")],
          "/s": [(1e6, "M/s"), (1e3, "k/s")]}


def text_of(value, unit):
    for scale, name in SCALES.get(unit, []):
        if value >= scale * 1.5 or (unit != "s" and value >= scale):
            return f"{digits_of(value / scale)} {name}"
    return f"{digits_of(value)} {unit}".rstrip()


def digits_of(value):
    if value >= 100 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


# Formulas count in bytes and seconds.
FACTORS = {"us": 1e-6, "ms": 1e-3}


def evaluate(constants):
    """Returns the value of each name."""
    names = {"ceil": math.ceil, "max": max, "power_of_2": power_of_2,
             "year": 365.25 * 86400}
    names.update({name: value * FACTORS.get(unit, 1) for name, value, unit, *_ in constants})
    for name, formula, *_ in LINES:
        if formula is not None:
            # The formulas are those above.
            names[name] = eval(formula.replace("64 MiB", "(64 * 2**20)"),  # pylint: disable=W0123
                               {"__builtins__": {}}, names)
    return names


def print_plan(constants):
    names = evaluate(constants)
    for name, value, unit, kind, meaning in constants:
        print(f"{name:16} {text_of(value, unit):>20}  {kind:9}  {meaning}".rstrip())
    for name, formula, unit, meaning in LINES:
        if formula is None:
            print(f"\n{name}")
            continue
        print(f"  {name} = {formula.replace('**', '^').replace('*', 'x')}")
        print(f"      = {text_of(names[name], unit):20} {meaning}".rstrip())


def print_steps(constants):
    columns = []
    for jobs, events in STEPS:
        changed = {"jobs": jobs, "events": events}
        columns.append(evaluate([(name, changed.get(name, value), *rest)
                                 for name, value, *rest in constants]))
    for name, unit in (("jobs", ""), ("events", "/s")):
        print(f"{name:20}" + "".join(f"{text_of(column[name], unit):>22}" for column in columns))
    for name, formula, unit, _ in LINES:
        if formula is not None:
            print(f"{name:20}" + "".join(f"{text_of(column[name], unit):>22}"
                                         for column in columns))


def changed_constants(words):
    constants = {row[0]: row for row in CONSTANTS}
    for word in words:
        name, _, value = word.partition("=")
        try:
            constants[name] = (name, float(value), *constants[name][2:])
        except (KeyError, ValueError):
            sys.exit(f"scale_plan.py: '{word}' gives no constant a value")
    return list(constants.values())


def main():
    parser = argparse.ArgumentParser(prog="scale_plan.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", action="store_true", help="three steps beside each other")
    parser.add_argument("constants", nargs="*", metavar="NAME=VALUE",
                        help="another value of a constant, in the unit that is printed for it")
    options = parser.parse_args()
    (print_steps if options.steps else print_plan)(changed_constants(options.constants))


if __name__ == "__main__":
    main()
