"""Tests elapse serve with passwords and with TLS."""

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
        self.write_secret("passwords", "first\nsecond\n")
        server = self.serve("--auth", "passwords")
        client = server.connect()
        self.assertRegex(self.redis(client, b"PUT", b"t", b"x"), b"^-NOAUTH")
        self.assertRegex(self.redis(client, b"AUTH", b"third"), b"^-WRONGPASS")
        self.assertEqual(self.redis(client, b"AUTH", b"second"), b"+OK")
        self.assertEqual(self.redis(client, b"PUT", b"t", b"x"), b"*2")
        self.write_secret("passwords", "third\n")
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


    def test_guesses_end_the_connection_and_are_logged_together(self):
        self.write_secret("passwords", "first\n")
        server = self.serve("--auth", "passwords")
        guesser = server.connect()
        guesser.send(b"*2\r\n$4\r\nAUTH\r\n$6\r\nsecond\r\n" * 200)
        self.assertEqual(self.redis(server.connect(), b"AUTH", b"first"), b"+OK")
        for _ in range(5):
            self.assertRegex(guesser.line(), b"^-WRONGPASS")
        self.assertTrue(guesser.is_closed())
        server.wait_for(b"wrong passwords from 127.0.0.1")
        self.assertLess(server.stop().count(b"wrong passwords"), 5)

    def test_files_that_others_can_read(self):
        self.write_secret("passwords", "first\n", 0o644)
        server = self.serve("--auth", "passwords")
        self.assertEqual(server.wait(), STATUS_USAGE)
        words = b"passwords: every user of this machine may read or write it; say: chmod o-rwx passwords"
        self.assertIn(words, server.log())
        self.write_secret("passwords", "first\n", 0o640)
        server = self.serve("--auth", "passwords")
        server.connect()
        (self.directory / "passwords").chmod(0o604)
        server.signal(signal.SIGHUP)
        server.wait_for(b"the passwords stay as they are: " + words)
        server.stop()


class Tls(ServeTest):
    def setUp(self):
        super().setUp()
        self.make("one")

    def make(self, name, *kind):
        """A key, and a certificate that it signs itself."""
        made = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", *(kind or ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")),
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

    def test_a_key_that_others_can_read(self):
        (self.directory / "key.pem").chmod(0o644)
        server = self.serve_tls()
        self.assertEqual(server.wait(), STATUS_USAGE)
        self.assertIn(b"key.pem: every user of this machine may read or write it; say: chmod o-rwx "
                      b"key.pem", server.log())

    def test_sessions_have_keys_of_their_own(self):
        """A cipher without forward secrecy is refused, which a key of RSA would allow."""
        self.make("rsa", "rsa:2048")
        server = self.serve_tls()
        for cipher, good in ("ECDHE-RSA-AES128-GCM-SHA256", True), ("AES128-GCM-SHA256", False), \
                ("AES256-SHA", False):
            with self.subTest(cipher=cipher):
                context = ssl.create_default_context(cafile=os.fspath(self.directory / "cert.pem"))
                context.maximum_version = ssl.TLSVersion.TLSv1_2
                context.set_ciphers(cipher + ":@SECLEVEL=0")
                plain = server.connect(1).socket
                if good:
                    context.wrap_socket(plain, server_hostname="localhost").close()
                else:
                    with self.assertRaises(ssl.SSLError):
                        context.wrap_socket(plain, server_hostname="localhost")
        server.stop()

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
