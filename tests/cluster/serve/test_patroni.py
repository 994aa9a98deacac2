"""Runs docs/guide/patroni.md on three machines that are sets of namespaces, and kills the machine of the primary.

It needs root, and the packages postgresql, patroni and etcd-server. Otherwise it is skipped, with a line.
"""

import pathlib
import re
import shutil
import sys
import tempfile
import time

import test_three_servers as three
from test_three_servers import Failure, Machine, expect

PAGE = three.ROOT / "docs/guide/patroni.md"
# What the units of the packages do.
ETCD = "set -a\n. /etc/default/etcd\nset +a\nsetsid -f etcd </dev/null >/var/log/postgresql/etcd.log 2>&1"
PATRONI = "setsid -f runuser -u postgres -- patroni /etc/patroni/config.yml </dev/null >/var/log/postgresql/patroni.log 2>&1"


def repeat(machine, lines, until):
    end = time.monotonic() + three.PATIENCE_S
    while True:
        status, said = machine.run(lines)
        if status == 0 and until in said:
            return said
        if time.monotonic() > end:
            logs = machine.run("tail -n 15 /var/log/postgresql/patroni.log /var/log/postgresql/etcd.log")[1]
            raise Failure(f"on {machine.name}:\n{lines}\nends with {status}:\n{said}\n{machine.log_of_node()}\n{logs}")
        time.sleep(0.5)


def walk(machines):
    blocks = re.findall(r"(?s)```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"))
    expect(len(blocks) == 8, f"the page has {len(blocks)} blocks")
    _, files, units, leader, create, nodes, put, after = blocks
    for machine in machines:
        machine.must("pg_ctlcluster 15 main stop\nmount -t tmpfs tmpfs /etc/default\nmount -t tmpfs tmpfs /etc/patroni\n"
                     "chmod 755 /etc/patroni\nmount -t tmpfs -o mode=0755 tmpfs /var/lib/etcd")
        machine.must(files)
    expect("systemctl enable --now etcd patroni" in units, "the page starts the services")
    for command in (ETCD, PATRONI):
        for machine in machines:
            machine.must(command)
    repeat(machines[0], leader, "Sync Standby")
    machines[0].must(create)
    start = "systemctl enable --now elapse-server\n"
    expect(start in nodes, "the page starts the nodes")
    for machine in machines:
        machine.must(nodes.replace(start, ""))
        machine.start_node()
    repeat(machines[0], put, "")
    listed = machines[0].must("patronictl -c /etc/patroni/config.yml list")
    [primary] = re.findall(r"(?m)^\| (\w+) .*\| Leader ", listed)
    gone = next(machine for machine in machines if machine.name == primary)
    gone.end()
    for machine in machines:
        if machine is not gone:
            repeat(machine, after, " ready ")


def main():
    three.look_for_needs()
    for program in ("patroni", "etcd"):
        if shutil.which(program) is None:
            three.say_skipped(f"{program} is not installed")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="elapse-patroni-") as made:
        shared = pathlib.Path(made)
        shared.chmod(0o755)
        three.write_shared(shared)
        machines = [Machine(name) for name in three.NAMES]
        try:
            three.join(machines)
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
