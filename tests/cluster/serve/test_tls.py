"""Tests TLS between nodes: who is trusted, what is refused, and that certificates are read again."""

import shutil
import signal
import socket
import ssl
import subprocess
import threading

import nodes_support as support
import serving
from nodes_support import NodesTest

PASSWORD = "open sesame"
EXPIRED = -1


class TlsConnection(serving.Connection):
    """A connection that speaks RESP over TLS."""

    def __init__(self, port, authority):  # pylint: disable=super-init-not-called
        context = ssl.create_default_context(cafile=str(authority))
        plain = socket.create_connection(("127.0.0.1", port), timeout=serving.PATIENCE_S)
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self.file = self.socket.makefile("rb")


class TlsNode(support.Node):
    """A node that listens over TLS alone. Its directory has cert.pem and key.pem."""

    def __init__(self, directory, hosts, *options, authority, **others):
        super().__init__(directory, hosts, *options, **others)
        at = self.options.index("--listen")
        self.options[at + 1] = "tls:127.0.0.1:0"
        self.options += ["--tls-certificate", str(self.directory / "cert.pem"),
                         "--tls-key", str(self.directory / "key.pem")]
        self.authority = authority

    def start(self):
        self.begin()
        self.process.wait_for(b" ready: ")
        self.port = int(self.process.log().split(b"listening: tls:127.0.0.1:")[1].split()[0])
        return self

    def connect(self):
        connection = TlsConnection(self.port, self.authority)
        answer = connection.ask("AUTH", PASSWORD)
        if answer != "OK":
            raise AssertionError(f"AUTH is answered {answer}")
        return connection


class Recorder:
    """A proxy before one port that keeps all bytes, of both directions."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.target = None
        self.bytes = bytearray()
        self.sockets = [self.listener]
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
                other = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            self.sockets += [one, other]
            for source, sink in ((one, other), (other, one)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    def copy(self, source, sink):
        try:
            while data := source.recv(65536):
                with self.lock:
                    self.bytes += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def seen(self):
        with self.lock:
            return bytes(self.bytes)

    def close(self):
        for one in self.sockets:
            one.close()


class TlsTests(NodesTest):
    lease_ms = 4000  # no lease has to end

    def setUp(self):
        super().setUp()
        self.ca = self.make_authority("ca")
        self.passwords = self.folder / "passwords"
        self.passwords.write_text(PASSWORD + "\n", encoding="ascii")
        self.passwords.chmod(0o600)

    def openssl(self, *words):
        made = subprocess.run(["openssl", *map(str, words)], capture_output=True, check=False, cwd=self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)

    def make_authority(self, name):
        """Makes a key and a certificate that signs others. Returns the path of the certificate."""
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                     f"{name}.key", "-out", f"{name}.pem", "-days", 2, "-subj", f"/CN={name}")
        return self.folder / f"{name}.pem"

    def certify(self, directory, authority=None, host="IP:127.0.0.1", days=2):
        """Puts a new key and its certificate into a directory of a node."""
        authority = authority or self.ca
        (self.folder / "names").write_text(f"subjectAltName={host}\n", encoding="ascii")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "new.key",
                     "-out", "new.req", "-subj", "/CN=node")
        self.openssl("x509", "-req", "-in", "new.req", "-CA", authority, "-CAkey", authority.with_suffix(".key"),
                     "-CAcreateserial", "-out", "new.pem", "-days", days, "-extfile", "names")
        shutil.move(self.folder / "new.key", directory / "key.pem")
        shutil.move(self.folder / "new.pem", directory / "cert.pem")

    def tls_node(self, *options, authority=None, **certificate):
        directory = self.folder / f"node{len(self.nodes)}"
        node = TlsNode(directory, self.servers.hosts(), "--node-ca", str(authority or self.ca), "--auth",
                       str(self.passwords), *options, authority=self.ca)
        self.certify(directory, **certificate)
        self.nodes.append(node)
        return node

    def tls_owner(self, *options):
        node = self.tls_node(*options).start()
        self.wait_until(lambda: node.owned() == self.partitions, "the node owns all")
        return node

    def begin_owner(self, *options, **certificate):
        """Starts a node whose clients cannot trust it; it owns all partitions when its log says so."""
        node = self.tls_node(*options, **certificate).start()
        self.wait_until(lambda: node.process.log().count(b": owning, epoch ") == self.partitions,
                        "the node owns all")
        return node

    def complaint(self, node, why):
        said = f"no link to its owner at tls:127.0.0.1:{self.nodes[0].port}: {why}".encode()
        node.process.wait_for(said)

    def ask(self, node, *words):
        with node.connect() as connection:
            return connection.ask(*words)

    def begin_asking(self, node):
        """A command for each partition, so that the node needs a link to its owner."""
        connection = node.connect()
        self.addCleanup(connection.__exit__)
        for number in range(8):
            connection.send("PUT", f"tube{number}", "x")
        return connection

    def expect_all(self, connection):
        for _ in range(8):
            self.assertIsInstance(connection.receive(), list)


class Tls(TlsTests):
    partitions = 2

    def test_nothing_is_sent_in_plain_text(self):
        recorder = Recorder()
        self.addCleanup(recorder.close)
        first = self.tls_owner("--advertise", f"tls:127.0.0.1:{recorder.port}")
        recorder.target = first.port
        second = self.tls_node().start()
        body = "in the clear? " * 4000
        with second.connect() as connection:
            for number in range(50):
                connection.send("PUT", f"tube{number % 8}", f"{number} {body}")
            for number in range(50):
                self.assertIsInstance(connection.receive(), list)
        self.assertGreater(len(recorder.seen()), 50 * len(body))
        self.assertNotIn(PASSWORD.encode(), recorder.seen())
        self.assertNotIn(b"in the clear?", recorder.seen())
        for node in (first, second):
            self.assertNotIn(b"in plain text", node.process.log())
        # The jobs come back over TLS, too.
        with second.connect() as connection:
            got = 0
            for tube in range(8):
                while jobs := self.ask_owners(connection, "RESERVE", f"tube{tube}", "COUNT", 20):
                    got += len(jobs)
                    self.assertTrue(all(job[4].endswith(body) for job in jobs))
        self.assertEqual(got, 50)

    def test_a_worker_waits_at_another_node(self):
        """The owner pushes the news over TLS, and when it ends it says that it leaves."""
        first = self.tls_owner()
        second = self.tls_node().start()
        for number in range(20):
            with second.connect() as waiting:
                waiting.send("RESERVE", "tube", "WAIT", "60s")
                self.assertIsInstance(self.ask(first, "PUT", "tube", f"b{number}"), list)
                [job] = waiting.receive()
                self.assertEqual(job[4], f"b{number}")
                self.assertEqual(waiting.ask("ACK", job[0], job[1]), ["ok"])
        first.stop()
        self.wait_until(lambda: second.owned() == self.partitions, "the other one owns all")
        self.assertIsInstance(self.ask(second, "PUT", "tube", "after"), list)

    def test_another_authority(self):
        other = self.make_authority("other")
        self.tls_owner()
        trusted = self.folder / "trusted.pem"
        shutil.copy(other, trusted)
        second = self.tls_node(authority=trusted).start()
        asking = self.begin_asking(second)
        self.complaint(second, "unable to get local issuer certificate")
        trusted.write_text("no certificate\n", encoding="ascii")
        second.process.signal(signal.SIGHUP)
        second.process.wait_for(b"the certificates of --node-ca stay as they are: ")
        shutil.copy(self.ca, trusted)
        second.process.signal(signal.SIGHUP)
        second.process.wait_for(b"reloaded: the certificates of --node-ca")
        self.expect_links(second, asking)

    def expect_links(self, node, asking):
        """Commands that waited may have been given up meanwhile; later ones are done."""
        for _ in range(8):
            answer = asking.receive()
            self.assertTrue(isinstance(answer, list) or str(answer).startswith("TRYAGAIN "), answer)
        with node.connect() as connection:
            for number in range(8):
                self.ask_owners(connection, "PUT", f"tube{number}", "y")

    def test_a_certificate_that_has_expired(self):
        first = self.begin_owner(days=EXPIRED)
        second = self.tls_node().start()
        asking = self.begin_asking(second)
        self.complaint(second, "certificate has expired")
        self.certify(first.directory)
        first.process.signal(signal.SIGHUP)
        first.process.wait_for(b"reloaded: the certificate")
        self.expect_links(second, asking)

    def test_a_certificate_for_another_host(self):
        self.begin_owner(host="DNS:other.example")
        second = self.tls_node().start()
        self.begin_asking(second)
        self.complaint(second, "IP address mismatch")

    def test_a_port_without_tls(self):
        first, port = self.node("--auth", str(self.passwords)), self.hold_port()
        at = first.options.index("--listen")
        first.options[at + 1] = f"127.0.0.1:{port}"
        first.options += ["--node-ca", str(self.ca), "--advertise", f"tls:127.0.0.1:{port}"]
        first.start()
        self.wait_until(lambda: first.process.log().count(b": owning, epoch ") == self.partitions, "it owns all")
        second = self.tls_node().start()
        self.begin_asking(second)
        self.complaint(second, "it does not speak TLS as this node does")

    def test_an_owner_that_never_answers_the_handshake(self):
        """The link is given up like any that does not answer, and the next one reaches the owner."""
        recorder = Recorder()
        self.addCleanup(recorder.close)
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        recorder.target = silent.getsockname()[1]  # takes the connection, and says nothing
        first = self.begin_owner("--advertise", f"tls:127.0.0.1:{recorder.port}")
        second = self.tls_node().start()
        self.begin_asking(second)
        second.process.wait_for(f"at tls:127.0.0.1:{recorder.port}: it does not answer".encode())
        recorder.target = first.port
        self.wait_until(lambda: int(second.info()["partitions_without_owner"]) == 0, "it knows all owners")
        with second.connect() as connection:
            for number in range(8):
                self.ask_owners(connection, "PUT", f"tube{number}", "x")

    def test_addresses_that_are_refused(self):
        """A node that listens over TLS alone sends nothing without TLS; one that trusts nobody uses no TLS."""
        plain = self.node("--auth", str(self.passwords)).start()
        self.wait_until(lambda: plain.process.log().count(b": owning, epoch ") == self.partitions, "it owns all")
        second = self.tls_node().start()
        self.begin_asking(second)
        second.process.wait_for(f"at 127.0.0.1:{plain.port}: its address has no tls:, and this node speaks "
                                "TLS alone".encode())
        self.assertIn(b"in plain text", plain.process.log())
        plain.stop()
        self.wait_until(lambda: second.owned() == self.partitions, "the other one owns all")
        plain.start()
        with serving.Connection(plain.port) as connection:
            connection.ask("AUTH", PASSWORD)
            for number in range(8):
                connection.send("PUT", f"tube{number}", "x")
            plain.process.wait_for(f"at tls:127.0.0.1:{second.port}: its address has tls:, and this node has "
                                   "no --node-ca".encode())

    def test_loopback_without_tls_is_for_this_machine(self):
        """It is not the address for other nodes, and sends nobody the password without TLS."""
        plain = self.node("--auth", str(self.passwords)).start()
        self.wait_until(lambda: plain.process.log().count(b": owning, epoch ") == self.partitions, "it owns all")
        second = self.tls_node()
        at = second.options.index("--listen")
        second.options[at:at] = ["--listen", "127.0.0.1:0"]
        second.start()
        self.begin_asking(second)
        second.process.wait_for(f"at 127.0.0.1:{plain.port}: its address has no tls:, and this node speaks "
                                "TLS alone".encode())
        self.assertNotIn(b"in plain text", second.process.log())
        plain.stop()
        self.wait_until(lambda: second.owned() == self.partitions, "the other one owns all")
        plain.start()
        with serving.Connection(plain.port) as connection:
            connection.ask("AUTH", PASSWORD)
            for number in range(8):
                connection.send("PUT", f"tube{number}", "x")
            plain.process.wait_for(f"no link to its owner at tls:127.0.0.1:{second.port}: ".encode())

    def test_changing_to_tls_one_by_one(self):
        """A node that also listens without TLS, and gives that address, reaches nodes of both kinds."""
        first = self.node("--auth", str(self.passwords)).start()
        self.wait_until(lambda: first.process.log().count(b": owning, epoch ") == self.partitions, "it owns all")
        port = self.hold_port()
        both = self.tls_node("--listen", f"127.0.0.1:{port}", "--advertise", f"127.0.0.1:{port}").start()
        both.process.wait_for(b"in plain text")
        self.expect_all(self.begin_asking(both))
        third = self.tls_node().start()
        first.stop()
        self.wait_until(lambda: both.owned() + third.owned() == self.partitions, "the others own all")
        if both.owned() == self.partitions:
            both.stop()
            self.wait_until(lambda: third.owned() == self.partitions, "the third one owns all")
            both.start()
        self.expect_all(self.begin_asking(both))

    def test_certificates_are_renewed_under_load(self):
        first = self.tls_owner()
        second = self.tls_node().start()
        self.wait_until(lambda: int(second.info()["partitions_without_owner"]) == 0, "it knows all owners")
        fails, count, stops = [], [0], threading.Event()

        def load():
            try:
                with second.connect() as connection:
                    while not stops.is_set():
                        for number in range(50):
                            connection.send("PUT", f"tube{number % 8}", "x" * 1000)
                        for number in range(50):
                            answer = connection.receive()
                            if not isinstance(answer, list):
                                fails.append(answer)
                        count[0] += 50
            except (OSError, EOFError) as error:
                fails.append(error)

        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        for turn in range(1, 6):
            for node in (first, second):
                self.certify(node.directory)
                node.process.signal(signal.SIGHUP)
                self.wait_until(lambda node=node, turn=turn: node.process.log().count(
                    b"reloaded: the certificates of --node-ca") == turn, "it has read its files again")
            before = count[0]
            self.wait_until(lambda before=before: count[0] > before + 200 or fails, "the load goes on")
        stops.set()
        for thread in threads:
            thread.join()
        self.assertEqual(fails, [])
        # A new connection gets the new certificate, and is trusted.
        self.assertIsInstance(self.ask(first, "PUT", "tube", "after"), list)

    def test_options(self):
        for options, said in (
                (("--advertise", "tls:127.0.0.1:7"), b"--advertise: an address with tls: needs --node-ca"),
                (("--advertise", "unix:/x"), b"--advertise: it is not HOST:PORT, or tls:HOST:PORT"),
                (("--node-ca", str(self.passwords)), b"the certificates "),
                (("--node-ca", str(self.folder / "nothing")), b"the certificates ")):
            with self.subTest(options=options):
                node = self.node(*options)
                node.begin()
                self.assertEqual(node.process.wait(), 2)
                self.assertIn(said, node.process.log())


class OnePartition(TlsTests):
    partitions = 1

    def test_beanstalkd_protocol(self):
        """Each client of this protocol has a link of its own, whose bytes pass unchanged."""
        self.tls_owner()
        second = self.tls_node("--listen", f"unix:{self.folder}/second").start()
        self.wait_until(lambda: int(second.info()["partitions_without_owner"]) == 0, "it knows the owner")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{self.folder}/second")
            client.settimeout(support.cluster.PATIENCE_S)
            client.sendall(b"put 0 0 60 1\r\nx\r\n")
            self.assertRegex(client.recv(100), rb"^INSERTED \d+\r\n$")


if __name__ == "__main__":
    support.run_tests()
