"""Runs docs/guide/managed.md, line by line, on one machine that is a set of namespaces. The service is two servers of
PostgreSQL there, a primary and its synchronous standby, at addresses of their own. The name of the service leads to one
of them, and the test moves it.

It needs root, and the package postgresql. Otherwise it is skipped, with a line.
"""

import pathlib
import re
import sys
import tempfile
import time

import test_three_servers as three
from test_three_servers import Failure, Machine, expect

PAGE = three.ROOT / "docs/guide/managed.md"
NAME, FIRST, SECOND = "db.example.com", "10.8.0.1", "10.8.0.2"

# What the service is before the page begins: a certificate for its name, a primary, a standby, and a role that may
# make roles and databases.
SERVICE = f"""
ip address add {FIRST}/32 dev lo
ip address add {SECOND}/32 dev lo
cd /root/tls
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout authority.key -out authority.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={NAME} -keyout server.key -out server.req
openssl x509 -req -in server.req -days 2 -CA authority.pem -CAkey authority.key -CAcreateserial -extfile <(echo subjectAltName=DNS:{NAME}) -out server.pem
install -d -o root -g elapse -m 750 /etc/elapse
install -o root -g elapse -m 644 authority.pem /etc/elapse/service.pem
mkdir -m 755 /var/lib/postgresql/tls
install -o postgres -g postgres -m 600 server.key /var/lib/postgresql/tls/server.key
install -o postgres -g postgres -m 644 server.pem /var/lib/postgresql/tls/server.pem
cat >/etc/postgresql/15/main/conf.d/service.conf <<TEXT
listen_addresses = '{FIRST}'
ssl = on
ssl_cert_file = '/var/lib/postgresql/tls/server.pem'
ssl_key_file = '/var/lib/postgresql/tls/server.key'
TEXT
cat >>/etc/postgresql/15/main/pg_hba.conf <<TEXT
hostssl all all {FIRST}/30 scram-sha-256
TEXT
pg_ctlcluster 15 main restart
runuser -u postgres -- psql -h /run/postgresql -c "create role admin login createrole createdb password 'of the service'"
pg_createcluster 15 second --port 5432 -- --no-sync
rm -rf /var/lib/postgresql/15/second
mkdir -m 755 /run/postgresql/second
chown postgres:postgres /run/postgresql/second
sed 's/{FIRST}/{SECOND}/' /etc/postgresql/15/main/conf.d/service.conf >/etc/postgresql/15/second/conf.d/service.conf
cp -p /etc/postgresql/15/main/pg_hba.conf /etc/postgresql/15/second/pg_hba.conf
cat >>/etc/postgresql/15/second/conf.d/service.conf <<TEXT
unix_socket_directories = '/run/postgresql/second'
cluster_name = 'second'
TEXT
runuser -u postgres -- pg_basebackup --pgdata /var/lib/postgresql/15/second --write-recovery-conf --checkpoint=fast --no-sync --dbname 'host=/run/postgresql'
pg_ctlcluster 15 second start
for name in main second; do
    echo "synchronous_standby_names = 'ANY 1 (*)'" >>"/etc/postgresql/15/$name/conf.d/service.conf"
done
runuser -u postgres -- psql -h /run/postgresql -c 'select pg_reload_conf()'
runuser -u postgres -- psql -h /run/postgresql/second -c 'select pg_reload_conf()'
"""

# The old primary is gone, and the service makes a standby of the new one.
FAIL_OVER = """
pg_ctlcluster 15 main stop -m immediate
runuser -u postgres -- psql -h /run/postgresql/second -c 'select pg_promote()'
rm -rf /var/lib/postgresql/15/main
runuser -u postgres -- pg_basebackup --pgdata /var/lib/postgresql/15/main --write-recovery-conf --checkpoint=fast --no-sync --dbname 'host=/run/postgresql/second'
pg_ctlcluster 15 main start
"""


def name_leads_to(machine, address):
    """The file is bound, so it is written in place."""
    machine.must(f"printf '127.0.0.1 localhost\\n{address} {NAME}\\n' >/etc/hosts")


def repeat(machine, lines, until):
    end = time.monotonic() + three.PATIENCE_S
    while True:
        status, said = machine.run(lines)
        if status == 0 and until in said:
            return
        if time.monotonic() > end:
            raise Failure(f"{lines}\nends with {status}:\n{said}\n{machine.log_of_node()}")
        time.sleep(0.5)


def check_roles(machine):
    said = machine.must("runuser -u postgres -- psql -h /run/postgresql -At -c \"select rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls "
                        "from pg_roles where rolname in ('elapse', 'admin') order by 1\"")
    expect(said.split() == ["admin|f|t|t|f|f", "elapse|f|f|f|f|f"], f"the roles are {said}")
    said = machine.must("runuser -u postgres -- psql -h /run/postgresql -At -c \"select count(*) from pg_auth_members where member = 'elapse'::regrole\"")
    expect(said.strip() == "0", "the role of the nodes belongs to other roles")


def walk(machine):
    blocks = re.findall(r"(?s)```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"))
    expect(len(blocks) == 6, f"the page has {len(blocks)} blocks")
    roles, names, create, start, look, after = blocks
    name_leads_to(machine, FIRST)
    machine.must(roles)
    check_roles(machine)
    expect(machine.must(names).strip() != "", "no commit waits for a standby")
    machine.must(create)
    expect(start.startswith("systemctl enable --now elapse-server"), f"this does not start the node: {start}")
    machine.start_node()
    repeat(machine, look, "scheduled")
    expect("it is a standby" not in machine.log_of_node(), "the node has met a standby")
    # The server fails over, and for a while the name leads to the server that is a standby now.
    machine.must(FAIL_OVER)
    end = time.monotonic() + three.PATIENCE_S
    while "it is a standby" not in machine.log_of_node():
        expect(time.monotonic() < end, f"the node does not say that it has met a standby:\n{machine.log_of_node()}")
        time.sleep(0.2)
    name_leads_to(machine, SECOND)
    repeat(machine, after, " ready ")


def main():
    three.look_for_needs()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="elapse-managed-") as made:
        shared = pathlib.Path(made)
        shared.chmod(0o755)
        three.write_shared(shared)
        machine = Machine("node-a")
        try:
            machine.give_folders(shared)
            machine.must(SERVICE)
            walk(machine)
        finally:
            machine.end()
    print(f"ok: the page was run in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except Failure as fault:
        sys.exit(f"FAILED: {fault}")
