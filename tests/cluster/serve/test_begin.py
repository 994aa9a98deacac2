"""Tests a node that is asked to end before it serves. Instead of a database there is a socket that never
answers."""

import pathlib
import signal
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

import server_process  # noqa: E402


class BeginTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.silent = socket.create_server(("127.0.0.1", 0))
        self.silent.settimeout(server_process.PATIENCE_S)
        self.addCleanup(self.silent.close)

    def begin(self):
        port = self.silent.getsockname()[1]
        node = server_process.ServerProcess(self.folder / "log", [
            "--data", str(self.folder / "data"), *server_process.FREE_PORT,
            "--cluster", f"host=127.0.0.1 port={port} user=nobody dbname=none sslmode=disable"])
        self.addCleanup(node.kill)
        return node

    def test_it_waits_for_no_answer_of_the_database(self):
        node = self.begin()
        session, _ = self.silent.accept()
        with session:
            self.assertNotEqual(session.recv(1024), b"")  # it asks
            node.signal(signal.SIGTERM)
            self.assertEqual(node.wait(), 0, node.text())
        self.assertIn("the node has ended before it was ready", node.text())
        # It has not waited until the database was late.
        self.assertNotIn("waiting for the database", node.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
