"""The workloads: each runs on a fresh server, or on one that had others of its group.

A workload is a generator: it yields figures as soon as it has them, so that a fault in its later
part does not take those of its earlier part.
"""

import time
from collections import namedtuple

from server import Failure

# How much of everything. `name` keeps files of one scale apart from those of another. share: of the
# seconds that a run takes with the full scale.
Scale = namedtuple("Scale", "name share seconds jobs stories many heartbeats late_s churn_s "
                            "churn_rate live")

FULL = Scale("full", share=1, seconds=2, jobs=1_000_000, stories=500_000, many=10_000_000,
             heartbeats=100_000, late_s=10, churn_s=600, churn_rate=10_000, live=200_000)
QUICK = Scale("quick", share=0.5, seconds=2, jobs=100_000, stories=100_000, many=500_000,
              heartbeats=20_000, late_s=5, churn_s=60, churn_rate=10_000, live=50_000)
TINY = Scale("tiny", share=0.05, seconds=0.2, jobs=10_000, stories=10_000, many=20_000,
             heartbeats=1_000, late_s=1, churn_s=2, churn_rate=1_000, live=2_000)

# Windows of the loads that put a backlog and of those that are pipelined as far as it helps.
FAR = 20_000
FILL_S = 1_200

SLOT_MS = 1 << 19  # of the third level of the wheel
ENOUGH_S = 150     # to put ten million jobs before a boundary
AHEAD_MS = 2_000


def jobs_of(server, count):
    """The count of jobs for this contender: round, so that batches are whole."""
    return max(1000, int(count * server.scale) // 1000 * 1000)


def only_some(figures, names, prefix=""):
    return {prefix + name: figures[name] for name in names if name in figures}


TIMES = ("rate", "count", "p50_us", "p99_us", "p999_us", "max_us", "server_ns", "server_faults")


def put(server, scale, connections, window):
    server.wait_for_rest()
    yield only_some(server.run("put", connections=connections, window=window,
                               seconds=scale.seconds), TIMES)


def fill(server, verb, count, **options):
    """Puts jobs, and returns figures: how fast, and what a job takes."""
    server.wait_for_rest()
    memory, disk = server.resident_bytes(), server.disk_bytes()
    done = server.run(verb, window=FAR, count=count, seconds=FILL_S, **options)
    server.wait_for_rest()
    return {"fill_rate": done["rate"], "jobs": count,
            "memory_bytes": (server.resident_bytes() - memory) / count,
            "disk_bytes": max(0, server.disk_bytes() - disk) / count,
            "resident_bytes": server.resident_bytes()}


def kill_and_restart(server):
    server.kill()
    return {"restart_s": server.restart()}


def rest(server, scale):
    """A backlog lies there; kill -9, restart; then all are deleted, so that none was lost."""
    count = jobs_of(server, scale.jobs)
    yield fill(server, "put", count)
    yield kill_and_restart(server)
    if server.can("delete"):
        yield only_some(server.run("delete", window=FAR, count=count), ("rate",))


def keyed(server, scale):
    """The same with keys; each job is moved once."""
    count = jobs_of(server, scale.jobs)
    yield fill(server, "put-key", count)
    yield only_some(server.run("reschedule", window=FAR, count=count), ("rate",))


def story(server, scale):
    server.wait_for_rest()
    yield only_some(server.run("story", window=FAR, count=jobs_of(server, scale.stories), share=90),
                    ("rate", "put_rate", "cancel_rate", "count"))


def heartbeat(server, scale):
    server.wait_for_rest()
    yield only_some(server.run("heartbeat", window=1000, seconds=scale.seconds * 2,
                               count=jobs_of(server, scale.heartbeats)), TIMES)


def backlog(server, scale):
    """Handed out and acknowledged."""
    server.wait_for_rest()
    count = jobs_of(server, scale.jobs)
    server.run("put-now", window=FAR, count=count, seconds=FILL_S)
    yield only_some(server.run("drain", window=4000, batch=1000, count=count), ("rate", "count"))


LATENESS = ("rate", "count", "early", "missing", "p50_us", "p99_us", "p999_us", "max_us",
            "histogram")


def lateness(server, scale, rate):
    server.wait_for_rest()
    yield only_some(server.run("timers", rate=rate, seconds=scale.late_s, ahead_ms=AHEAD_MS,
                               connections=4), LATENESS)


def next_boundary_ms(enough_s):
    """A time of the wall clock at which the wheel opens a slot of 524 seconds."""
    soonest_ms = time.time() * 1000 + enough_s * 1000
    return (int(soonest_ms) // SLOT_MS + 1) * SLOT_MS


def many(server, scale):
    """Ten million jobs wait, while others come due. A contender that takes times has all of them
    in the second half of one slot of its wheel, which it opens in the middle of the run."""
    half_s = max(1, scale.late_s / 2)
    if server.can("put-at"):
        enough_s = ENOUGH_S if scale.many >= 1_000_000 else half_s + 3
        # A smaller race does not wait for a boundary: it only tries the way.
        at_ms = (next_boundary_ms(enough_s) if scale.name == "full"
                 else int(time.time() * 1000 + enough_s * 1000))
        yield fill(server, "put-at", scale.many, at_ms=at_ms + SLOT_MS // 2,
                   spread_ms=SLOT_MS // 2)
        begin_s = at_ms / 1000 - half_s
        if time.time() > begin_s:
            raise Failure("the jobs were not put in time for the boundary")
        time.sleep(begin_s - time.time())
    else:
        yield fill(server, "put", scale.many)
    yield from lateness(server, scale, 20_000 if scale.name == "full" else scale.churn_rate)
    yield kill_and_restart(server)


def churn(server, scale):
    server.wait_for_rest()
    live = jobs_of(server, scale.live)
    load = server.start_load("churn", live=live, rate=scale.churn_rate, seconds=scale.churn_s,
                             window=1000)
    disk = memory = live_bytes = 0
    try:
        while load.poll() is None:
            time.sleep(min(1, scale.churn_s / 20))
            if hasattr(server, "live_bytes"):
                live_bytes = max(live_bytes, server.live_bytes())
            disk, memory = max(disk, server.disk_bytes()), max(memory, server.resident_bytes())
    finally:
        figures = server.finish_load(load, 1 if load.poll() is None else None)
    yield {**only_some(figures, TIMES), "live": live, "disk_most_bytes": disk,
           "disk_end_bytes": server.disk_bytes(), "memory_most_bytes": memory,
           **({"live_bytes": live_bytes} if live_bytes else {})}


# verbs: all that a contender needs to take part. only: names, or None for all that can. rounds:
# at most. expected_s: seconds of one run with the full scale, for the budget. Workloads of one
# group that follow each other may have one server. least_scale: slower contenders do not take part.
Workload = namedtuple("Workload", "title verbs run only rounds expected_s group least_scale",
                      defaults=(None, None, 20, None, 0))


def puts(connections, window, title, rounds=None):
    return Workload(title, ("put",),
                    lambda server, scale: put(server, scale, connections, window), rounds=rounds,
                    expected_s=6, group="put")


TEN_MILLION = ("elapse", "beanstalkd", "redis")
STEADY = ("elapse", "beanstalkd", "redis", "postgres-100")

WORKLOADS = {
    # Few jobs first: those that follow find them in the server.
    "put-1": puts(1, 1, "put, window 1"),
    "put-64": puts(1, 64, "put, window 64"),
    "put-1000": puts(1, 1_000, "put, window 1,000"),
    "put-100x1": puts(100, 1, "put, 100 connections, one at a time"),
    "put-100x64": puts(100, 64, "put, 100 connections, window 64", 1),
    "put-20000": puts(1, 20_000, "put, window 20,000"),
    "story": Workload("put with a key, then cancel 90 % by key in random order",
                      ("story",), story, expected_s=30),
    "heartbeat": Workload("move a time-out at each heartbeat", ("heartbeat",), heartbeat,
                          expected_s=12),
    "late-1k": Workload("1,000 due a second", ("timers",),
                        lambda server, scale: lateness(server, scale, 1_000), rounds=1,
                        expected_s=18),
    "late-20k": Workload("20,000 due a second", ("timers",),
                         lambda server, scale: lateness(server, scale, 20_000), expected_s=18,
                         least_scale=0.1),
    "backlog": Workload("hand out and acknowledge a backlog", ("put-now", "drain"), backlog,
                        expected_s=40),
    "rest": Workload("a pending job; kill -9, restart, delete all", ("put", "put-now"), rest,
                     rounds=2, expected_s=40),
    "keyed": Workload("a pending job with a key; reschedule by key", ("put-key", "reschedule"),
                      keyed, rounds=2, expected_s=30),
    "many": Workload("ten million pending; 20,000 due a second; kill -9, restart",
                     ("put", "timers"), many, TEN_MILLION, 1, 400),
    "churn": Workload("cancel one and put one, steadily", ("churn",), churn, STEADY, 1, 640),
}


def takes_part(kind_or_server, name, workload):
    """Whether the contender of this name can do all of the workload, and is asked to."""
    return ((workload.only is None or name in workload.only) and
            kind_or_server.scale >= workload.least_scale and
            all(verb in kind_or_server.verbs for verb in workload.verbs))
