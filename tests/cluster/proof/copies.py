"""Copies of partitions in a cluster that has fewer of each than nodes: who has them, when all are in place,
jobs that make their logs long, and the faults that need to know."""

import json
import os
import shutil
import signal
import socket
import time

from load import FAR
from nodes import cluster, wait_until
from place import partition_of
from proof_support import resp

FILLED = 30_000      # jobs of a partition whose copy is to take a while
BODY = "x" * 100
CHUNK = 1000


def lists_of(it):
    """The nodes in the list of each partition; the owner comes first if it is there."""
    rows = it.databases.rows()
    text = it.databases.primary.sql(
        "select json_object_agg(part, coalesce(replicas, '')) from elapse.place"
        f" where queue = '{it.databases.queue}';\n")
    names = json.loads(text or "{}")
    return {part: sorted((it.node_at(name) for name in names.get(str(part), "").split()),
                         key=lambda node, address=row[2]: node is not it.node_at(address))
            for part, row in rows.items()}


def ready_of(it):
    """For which partitions each living node has said that it is ready."""
    text = it.databases.primary.sql(
        "select address, coalesce(array_to_string(ready, ' '), '') from elapse.node"
        f" where queue = '{it.databases.queue}' and beat > clock_timestamp() - interval '{2 * it.lease_ms} ms';\n")
    pairs = (line.split("|") for line in text.splitlines())
    return {it.node_at(address): set(map(int, ready.split())) for address, ready in pairs}


def are_in_place(it):
    lists, ready = lists_of(it), ready_of(it)
    return all(len(members) == it.followers + 1 and
               all(node is not None and part in ready.get(node, ()) for node in members)
               for part, members in lists.items())


def wait_for_copies(it):
    """Waits until each partition has as many copies as it should, all of them ready."""
    if it.followers:
        wait_until(lambda: are_in_place(it), "the copies are in place", 180)


def members(trial):
    """The owner of the partition of the trial, and its only follower."""
    def two():
        found = lists_of(trial.it)[trial.part]
        return found if len(found) == 2 and found[0] is trial.it.owner_of(trial.part) else None
    if trial.it.followers != 1:
        raise AssertionError("this fault needs --followers 1")
    return wait_until(two, "an owner and a follower")


def others(trial, *those):
    return [node for node in trial.it.nodes if node not in those]


def directory_of(node, part):
    return node.directory / "data" / f"part-{part}"


# ---- long logs ----


def tube_in(part, partitions):
    """A tube that lies whole in the partition."""
    number = 0
    while partition_of(str(number), "", partitions) != part:
        number += 1
    return f"fill{{{number}}}"


def send_all(port, commands):
    """Sends commands in pipelines, and returns how many lines of replies begin with a minus."""
    errors = 0
    with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
        replies = link.makefile("rb")
        for start in range(0, len(commands), CHUNK):
            chunk = commands[start:start + CHUNK]
            link.sendall(b"".join(chunk))
            for _ in chunk:
                line = replies.readline()
                errors += line.startswith(b"-")
                if line.startswith(b"*"):  # PUT: id and word
                    for _ in range(int(line[1:])):
                        replies.readline()
    return errors


def fill(trial):
    """The partition of the trial gets many jobs, once in a cluster."""
    it, part = trial.it, trial.part
    filled = it.__dict__.setdefault("filled", set())
    if part in filled:
        return
    put = resp("PUT", tube_in(part, it.partitions), BODY, "IN", FAR)
    errors = send_all(it.owner_of(part).port, [put] * FILLED)
    if errors:
        raise AssertionError(f"{errors} of the jobs that make the log long were refused")
    filled.add(part)


def check_filled(trial):
    """They are all there."""
    tube = tube_in(trial.part, trial.it.partitions)
    with socket.create_connection(("127.0.0.1", trial.owner().port), timeout=60) as link:
        link.sendall(resp("STATS", tube))
        replies = link.makefile("rb")
        count = int(replies.readline()[1:])
        words = [replies.readline().strip().lstrip(b":") for _ in range(count)] if count else []
        words = [word for word in words if not word.startswith(b"$")]
    text = b" ".join(words).decode()
    if f"delayed {FILLED}" not in text:
        trial.ledger.fault("lost", f"of {FILLED} jobs that made the log long: {text}")


# ---- faults ----


def owner_and_follower_killed(trial):
    """kill -9 of an owner and its only follower at once: a node without a copy reads the log."""
    fill(trial)
    both = members(trial)
    trial.begin()
    for node in both:
        node.signal(signal.SIGKILL)
    for node in both:
        node.kill()
    trial.wait_for_service()
    for node in both:
        node.start()
    for node in both:
        node.wait_until_ready()
    trial.note = f"then node {trial.it.owner_of(trial.part).number} owned"
    check_filled(trial)


def owner_killed_at_rebuild(trial):
    """kill -9 of an owner while a node gets a copy: a third one, or the follower, whose files are lost."""
    fill(trial)
    owner, follower = members(trial)
    is_third = trial.number % 2 == 0
    node = others(trial, owner, follower)[trial.number // 2 % 2] if is_third else follower
    if is_third:
        trial.place(node)
        wait_until(lambda: node in lists_of(trial.it)[trial.part], "the node is in the list")
    else:
        node.kill()
        shutil.rmtree(directory_of(node, trial.part))
        node.start()
        wait_until(directory_of(node, trial.part).exists, "the node makes its files anew")
    time.sleep(trial.number // 2 % 5 * 0.05)
    trial.note = ("a third node" if is_third else "the follower") + \
        f", ready: {trial.part in ready_of(trial.it).get(node, ())}"
    owner = trial.it.owner_of(trial.part) or owner
    trial.begin()
    owner.kill()
    if not is_third:
        node.wait_until_ready()
    trial.wait_for_service()
    owner.start()
    owner.wait_until_ready()
    check_filled(trial)


def old_directory(trial):
    """A node comes back with its directory of an earlier time, and then its partner dies."""
    fill(trial)
    pair = members(trial)
    node, partner = pair if trial.number % 2 == 0 else pair[::-1]
    trial.note = "the owner" if trial.number % 2 == 0 else "the follower"
    data, old = node.directory / "data", node.directory / "old"
    node.kill()
    shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(data, old)
    node.start()
    node.wait_until_ready()
    trial.wait_for_service()
    time.sleep(1.0 + trial.number // 2 % 2)
    node.kill()
    trial.wait_for_service()
    shutil.rmtree(data)
    os.rename(old, data)
    node.start()
    node.wait_until_ready()
    wait_until(lambda: node in lists_of(trial.it)[trial.part] and
               trial.part in ready_of(trial.it).get(node, ()), "the node is ready again")
    trial.begin()
    partner.kill()
    trial.wait_for_service()
    partner.start()
    partner.wait_until_ready()
    check_filled(trial)


def one_had_read(trial):
    """A standby that lacks acknowledged groups is promoted. Their owner is gone for good, and one other node
    alone has read them, as follower or as witness: all have to end."""
    it, databases = trial.it, trial.databases
    owner, follower = members(trial)
    is_follower = trial.number % 2 == 0
    knows = follower if is_follower else others(trial, owner, follower)[trial.number // 2 % 2]
    trial.note = "a follower knows" if is_follower else "a witness knows"
    asleep = others(trial, owner, knows)
    for node in asleep:
        node.freeze()
    try:
        trial.wait_for_service()
        wrong, other = databases.standbys()[::1 if trial.number // 2 % 2 == 0 else -1]
        epochs = it.epochs()
        wait_until(lambda: {part: row[0] for part, row in databases.rows(wrong).items()} == epochs,
                   "the standby knows the owners")
        wrong.kill()
        for _ in range(3):
            trial.wait_for_service()
        time.sleep(1.0)
        if it.owner_of(trial.part) is not owner or it.epochs() != epochs:
            raise AssertionError("another node took over meanwhile")
        had = databases.rows()
        trial.begin()
        databases.primary.kill()
        other.kill()
        owner.kill()
    finally:
        for node in asleep:
            node.thaw()
    trial.promote_lacking(wrong, had)
    mark = databases.primary.sql(
        "select stopped || missed from elapse.partition"
        f" where queue = '{databases.queue}' and part = {trial.part};\n")
    if not mark:
        trial.noticed = "no"
        trial.note += "; its row has no mark"


FAULTS = (owner_and_follower_killed, owner_killed_at_rebuild, old_directory, one_had_read)
