"""elapse serve with passwords, and with TLS."""

import os
import signal
import ssl
import subprocess

import support
from serve_support import Client, ServeTest
from support import STATUS_USAGE


class Passwords(ServeTest):
    def redis(self, client, *words):
        client.send(b"*%d\r\n" % len(words) +
                    b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return client.line()

    def test_a_password_is_asked_for_and_can_change(self):
        (self.directory / "passwords").write_text("first\nsecond\n")
        server = self.serve("--auth", "passwords")
        client = server.connect()
        self.assertRegex(self.redis(client, b"PUT", b"t", b"x"), b"^-NOAUTH")
        self.assertRegex(self.redis(client, b"AUTH", b"third"), b"^-WRONGPASS")
        self.assertEqual(self.redis(client, b"AUTH", b"second"), b"+OK")
        self.assertEqual(self.redis(client, b"PUT", b"t", b"x"), b"*2")
        (self.directory / "passwords").write_text("third\n")
        server.signal(signal.SIGHUP)
        server.wait_for(b"reloaded: 1 passwords")
        self.assertRegex(self.redis(server.connect(), b"AUTH", b"second"), b"^-WRONGPASS")
        self.assertEqual(self.redis(server.connect(), b"AUTH", b"third"), b"+OK")
        # A file that cannot be used changes nothing.
        (self.directory / "passwords").unlink()
        server.signal(signal.SIGHUP)
        server.wait_for(b"the passwords stay as they are: passwords: No such file")
        self.assertEqual(self.redis(server.connect(), b"AUTH", b"third"), b"+OK")
        log = server.stop()
        for password in (b"first", b"second", b"third"):
            self.assertNotIn(password, log)


class Tls(ServeTest):
    def setUp(self):
        super().setUp()
        self.make("one")

    def make(self, name):
        """A key, and a certificate that it signs itself."""
        made = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj",
             f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            cwd=self.directory, capture_output=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)

    def serve_tls(self, *arguments):
        return self.serve("--listen", "tls:127.0.0.1:0", "--tls-certificate", "cert.pem",
                          "--tls-key", "key.pem", *arguments)

    def connect(self, server, **versions):
        context = ssl.create_default_context(cafile=os.fspath(self.directory / "cert.pem"))
        for name, version in versions.items():
            setattr(context, name, version)
        plain = server.connect(1).socket
        client = Client(context.wrap_socket(plain, server_hostname="localhost"))
        self.addCleanup(client.close)
        return client

    def test_jobs_go_through_it(self):
        server = self.serve_tls("--max-body", "100000")
        client = self.connect(server)
        body = bytes(range(256)) * 300
        self.assertEqual(client.put(body), b"INSERTED 1")
        self.assertEqual(client.reserve(), (1, body))
        older = self.connect(server, maximum_version=ssl.TLSVersion.TLSv1_2)
        self.assertEqual(older.put(b"x"), b"INSERTED 2")
        client.send(b"put 1 0 60 1\r\na\r\n" * 5000)
        self.assertEqual([client.line() for _ in range(5000)],
                         [b"INSERTED %d" % (i + 3) for i in range(5000)])
        server.stop()

    def test_a_client_without_tls_is_refused(self):
        server = self.serve_tls()
        plain = server.connect(1)
        plain.send(b"put 1 0 60 1\r\na\r\n")
        with self.assertRaises((EOFError, ConnectionError)):
            while True:
                plain.fill()
        server.wait_for(b"a connection broke the rules of TLS")
        self.assertEqual(self.connect(server).put(b"x"), b"INSERTED 1")

    def test_a_silent_client_holds_up_nobody(self):
        server = self.serve_tls()
        server.connect(1)
        self.assertEqual(self.connect(server).put(b"x"), b"INSERTED 1")

    def test_a_handshake_has_a_time_limit(self):
        server = self.serve_tls("--max-connections", "3")
        begun = self.connect(server)
        silent, slow = server.connect(1), server.connect(1)
        # The beginning of a record, of which the rest never comes.
        slow.send(b"\x16\x03\x01\x02\x00\x01")
        self.assertTrue(silent.is_closed())
        self.assertTrue(slow.is_closed())
        server.wait_for(b"a connection did not begin TLS within 10 s")
        # Their places are free, and a session that has begun may be idle.
        self.assertEqual(begun.put(b"x"), b"INSERTED 1")
        self.assertEqual(self.connect(server).put(b"x"), b"INSERTED 2")
        server.stop()

    def test_a_certificate_is_read_again(self):
        server = self.serve_tls()
        before = self.connect(server)
        self.make("two")
        server.signal(signal.SIGHUP)
        server.wait_for(b"reloaded: the certificate")
        self.assertEqual(self.connect(server).put(b"x"), b"INSERTED 1")
        self.assertEqual(before.put(b"x"), b"INSERTED 2")
        (self.directory / "key.pem").write_text("nonsense")
        server.signal(signal.SIGHUP)
        server.wait_for(b"the certificate stays as it is: the key key.pem: ")
        self.assertEqual(self.connect(server).put(b"x"), b"INSERTED 3")

    def test_a_bad_key_is_refused_at_the_start(self):
        (self.directory / "key.pem").write_text("nonsense")
        server = self.serve_tls()
        self.assertEqual(server.wait(), STATUS_USAGE)
        self.assertIn(b"the key key.pem: ", server.log())


if __name__ == "__main__":
    support.main()
