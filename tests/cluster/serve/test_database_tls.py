"""Tests TLS to the database: certificates that are replaced are used by new sessions, while the node goes on."""

import shutil
import subprocess

import nodes_support as support
from nodes_support import NodesTest

ADDRESS = "127.84.76.83"  # an address of its own, because the port of PostgreSQL is the usual one


class DatabaseTls(NodesTest):
    """The node has a certificate in place of a password, and verifies that of the server."""

    partitions = 2
    # A statement that takes half a lease ends its session, and the next session would read the new files.
    lease_ms = 4000
    renews = True

    def setUp(self):
        super().setUp()
        for name in ("root1", "root2", "clients1", "clients2", "strangers"):
            self.make_authority(name)
        self.server_files = self.primary.directory
        self.use("root.pem", "root1")
        self.certify("root1", f"IP:{ADDRESS}", self.server_files, "server")
        self.serial = self.certify("clients1", "DNS:client", self.folder, "client")
        shutil.copy(self.folder / "clients1.pem", self.server_files / "clients.pem")
        self.give_to_server()
        rules = self.primary.data / "pg_hba.conf"
        rules.write_text(f"hostssl all elapse {ADDRESS}/32 cert\n" + rules.read_text(encoding="utf-8"), encoding="utf-8")
        for name, value in (("listen_addresses", ADDRESS), ("ssl", "on"), ("ssl_cert_file", self.server_files / "server.pem"),
                            ("ssl_key_file", self.server_files / "server.key"), ("ssl_ca_file", self.server_files / "clients.pem")):
            self.primary.sql(f"alter system set {name} = '{value}';\n")
        self.primary.stop()
        self.primary.start()
        self.servers.wait_for_standbys(self.primary, 2)
        self.host = (f"host={ADDRESS} dbname=postgres user=elapse sslmode=verify-full sslrootcert={self.folder}/root.pem "
                     f"sslcert={self.folder}/client.pem sslkey={self.folder}/client.key")

    # ---- certificates ----

    def openssl(self, *words):
        made = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout

    def make_authority(self, name):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                     f"{name}.key", "-out", f"{name}.pem", "-days", 2, "-subj", f"/CN={name}")

    def certify(self, authority, host, directory, name):
        """Puts a new key and its certificate into a directory. Returns the number of the certificate."""
        (self.folder / "names").write_text(f"subjectAltName={host}\n", encoding="ascii")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "new.key",
                     "-out", "new.req", "-subj", "/CN=elapse")
        self.openssl("x509", "-req", "-in", "new.req", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                     "-CAcreateserial", "-out", "new.pem", "-days", 2, "-extfile", "names")
        (self.folder / "new.key").chmod(0o600)
        for end in ("key", "pem"):
            shutil.move(self.folder / f"new.{end}", directory / f"{name}.{end}")
        return int(self.openssl("x509", "-in", directory / f"{name}.pem", "-noout", "-serial").split("=")[1], 16)

    def use(self, name, *authorities):
        """Makes a file of these authorities."""
        text = "".join((self.folder / f"{one}.pem").read_text(encoding="ascii") for one in authorities)
        (self.folder / name).write_text(text, encoding="ascii")

    def give_to_server(self):
        for name in ("server.key", "server.pem", "clients.pem"):
            self.servers.give_to_user(self.server_files / name)

    def reload_server(self):
        self.give_to_server()
        self.primary.sql("select pg_reload_conf();\n")

    # ---- sessions ----

    def sessions(self):
        """The numbers of the certificates of all sessions that come by TCP."""
        return self.primary.sql("select client_serial from pg_stat_ssl join pg_stat_activity using (pid)"
                                " where ssl and client_addr is not null;\n").split()

    def end_sessions(self):
        self.primary.sql("select pg_terminate_backend(pid) from pg_stat_activity where client_addr is not null;\n")

    def expect_sessions(self):
        """Waits until the node serves by sessions with the present certificate, and by no others."""
        self.wait_until(lambda: self.node.owned() == self.partitions, "the node owns all")
        # A session for each partition, and one that tells of the node.
        self.wait_until(lambda: len(self.sessions()) > self.partitions and set(self.sessions()) == {str(self.serial)},
                        f"all sessions have the certificate {self.serial}, not {self.sessions()}")
        self.puts += 1
        answer = self.wait_until(lambda: self.put_or_none(f"body{self.puts}"), "a job is put")
        self.assertGreater(answer, 0)

    def put_or_none(self, body):
        answer = self.node.ask("PUT", "tube", body, "TOKEN", body)
        return None if isinstance(answer, support.Error) else answer[0]

    def test_changed_files_are_used_without_a_restart(self):
        node = support.Node(self.folder / "node", [self.host])
        self.nodes.append(node)
        self.node, self.puts = node.start(), 0
        process = node.process.process.pid
        self.expect_sessions()

        with self.subTest("the certificate of the node"):
            old = self.serial
            self.serial = self.certify("clients2", "DNS:client", self.folder, "client")
            self.assertEqual(set(self.sessions()), {str(old)}, "sessions go on with the old certificate")
            self.use("clients", "clients1", "clients2")
            shutil.copy(self.folder / "clients", self.server_files / "clients.pem")
            self.reload_server()
            self.end_sessions()
            self.expect_sessions()
            # The old authority is taken out: the old certificate would be refused from now on.
            shutil.copy(self.folder / "clients2.pem", self.server_files / "clients.pem")
            self.reload_server()
            self.end_sessions()
            self.expect_sessions()

        with self.subTest("the authority of the server"):
            self.use("root.pem", "root1", "root2")
            self.certify("root2", f"IP:{ADDRESS}", self.server_files, "server")
            self.reload_server()
            self.end_sessions()
            self.expect_sessions()
            self.use("root.pem", "root2")
            self.end_sessions()
            self.expect_sessions()

        with self.subTest("an authority that does not fit, and the right one again"):
            self.use("root.pem", "strangers")
            self.end_sessions()
            self.wait_until(lambda: "certificate verify failed" in node.process.text(), "the node says why")
            self.wait_until(lambda: self.sessions() == [], "all sessions have ended, and none begins")
            self.use("root.pem", "root2")
            self.expect_sessions()

        with self.subTest("a certificate that the server does not know, and the right one again"):
            self.certify("strangers", "DNS:client", self.folder, "client")
            self.end_sessions()
            self.wait_until(lambda: "unknown ca" in node.process.text(), "the node says why")
            self.wait_until(lambda: self.sessions() == [], "all sessions have ended, and none begins")
            self.serial = self.certify("clients2", "DNS:client", self.folder, "client")
            self.expect_sessions()

        self.assertEqual((node.starts, node.process.process.pid, node.process.process.poll()), (1, process, None))
        self.assertEqual(set(self.take(node)), {f"body{i + 1}" for i in range(self.puts)})


if __name__ == "__main__":
    support.run_tests()
