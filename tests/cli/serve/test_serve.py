"""Tests the sockets of elapse serve, its start and its end."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time

import support
from serve_support import START_S, Client, ServeTest, few_files
from support import STATUS_OK, STATUS_USAGE


class Sockets(ServeTest):
    def test_each_kind(self):
        server = self.serve("--listen", "unix:socket", "--listen", "[::1]:0")
        for number in range(3):
            client = server.connect(number)
            self.assertEqual(client.put(b"a"), b"INSERTED %d" % (number + 1))
        server.stop()
        self.assertFalse((self.directory / "socket").exists())

    def test_a_socket_of_a_killed_process_is_replaced(self):
        server = self.serve(listen="unix:socket")
        server.wait_for(b" ready: ")
        server.kill()
        self.assertTrue((self.directory / "socket").exists())
        server = self.serve(listen="unix:socket")
        self.assertEqual(server.connect().put(b"a"), b"INSERTED 1")
        status, log = self.refused(listen="unix:socket", data="other")
        self.assertEqual(status, STATUS_USAGE)
        self.assertIn("unix:socket: Address already in use", log)

    def test_a_file_is_not_replaced_by_a_socket(self):
        (self.directory / "file").write_text("precious")
        status, _ = self.refused(listen="unix:file")
        self.assertEqual(status, STATUS_USAGE)
        self.assertEqual((self.directory / "file").read_text(), "precious")

    def activate(self, *listeners, names="", **options):
        """Starts a server that gets these listeners as if a service manager had passed them on."""
        def pass_on():
            # The copies come first: a listener may have a number that another one is to get.
            copies = [fcntl.fcntl(listener, fcntl.F_DUPFD, 100) for listener in listeners]
            for number, copy in enumerate(copies):
                os.dup2(copy, 3 + number)
                os.close(copy)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(listeners)),
                              LISTEN_FDNAMES=names)
        return self.serve(listen=None, preexec_fn=pass_on, close_fds=False, **options)

    def test_socket_activation(self):
        listener = socket.create_server(("127.0.0.1", 0))
        path = socket.socket(socket.AF_UNIX)
        path.bind(os.fspath(self.directory / "socket"))
        path.listen()
        self.addCleanup(listener.close)
        self.addCleanup(path.close)
        # A client that connects before the server runs waits for it.
        early = Client(socket.create_connection(listener.getsockname(), START_S))
        self.addCleanup(early.close)
        early.send(b"put 1 0 60 5\r\nearly\r\n")
        server = self.activate(listener, path, names="one:two")
        self.assertEqual(len(server.addresses()), 2)
        self.assertEqual(early.line(), b"INSERTED 1")
        self.assertEqual(server.connect(0).put(b"a"), b"INSERTED 2")
        client = Client(socket.socket(socket.AF_UNIX))
        self.addCleanup(client.close)
        client.socket.connect(os.fspath(self.directory / "socket"))
        self.assertEqual(client.put(b"a"), b"INSERTED 3")
        server.stop()
        # The path belongs to the service manager, so the server has not removed it.
        self.assertTrue((self.directory / "socket").exists())

    def test_activation_by_systemd(self):
        manager = "systemd-socket-activate"
        if shutil.which(manager) is None:
            self.skipTest(f"{manager} is not there (systemd)")
        path = os.fspath(self.directory / "socket")
        process = subprocess.Popen(
            [manager, "--listen", path, os.path.realpath(support.PROGRAM), "serve", "--data", "d",
             "--segment-bits", "18"],
            cwd=self.directory, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        client = Client(socket.socket(socket.AF_UNIX))
        self.addCleanup(client.close)
        end = time.monotonic() + START_S
        while client.socket.connect_ex(path) != 0 and time.monotonic() < end:
            time.sleep(0.005)
        # The connection starts the server, which takes the place of the manager.
        self.assertEqual(client.put(b"a"), b"INSERTED 1")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(START_S), STATUS_OK)

    def test_a_passed_file_that_does_not_listen_is_refused(self):
        plain = socket.socket()
        self.addCleanup(plain.close)
        server = self.activate(plain)
        self.assertEqual(server.wait(), STATUS_USAGE)
        self.assertIn(b"a socket that was passed: ", server.log())

    def test_half_a_command_waits_for_the_other_half(self):
        server = self.serve()
        half, whole = server.connect(), server.connect()
        half.send(b"put 1 0 60 5\r\nhe")
        self.assertEqual(whole.put(b"a"), b"INSERTED 1")
        half.send(b"llo\r\n")
        self.assertEqual(half.line(), b"INSERTED 2")
        for byte in b"put 1 0 60 5\r\nhello\r\n":
            half.send(bytes((byte,)))
        self.assertEqual(half.line(), b"INSERTED 3")
        # A command whose client goes away in the middle of it does not count.
        half.send(b"put 1 0 60 5\r\nhel")
        half.close()
        self.assertIn(b"current-jobs-ready: 3", self.stats(whole))

    def stats(self, client):
        words = client.ask(b"stats\r\n").split()
        return client.take(int(words[1]) + 2)

    def test_a_client_that_sends_no_more_still_reads(self):
        client = self.serve().connect()
        client.send(b"put 1 0 60 1\r\na\r\n" * 1000)
        client.socket.shutdown(socket.SHUT_WR)
        answers = [client.line() for _ in range(1000)]
        self.assertEqual(answers, [b"INSERTED %d" % (i + 1) for i in range(1000)])
        self.assertTrue(client.is_closed())

    def test_a_client_that_does_not_read_holds_up_nobody(self):
        server = self.serve("--max-output", "65536")
        slow, other = server.connect(), server.connect()
        command = b"stats\r\n"
        slow.socket.setblocking(False)
        sent = 0
        idle = 0
        # The client sends until the server takes no more.
        while idle < 20 and sent < 1 << 28:
            try:
                sent += slow.socket.send(command * 10000)
                idle = 0
            except BlockingIOError:
                idle += 1
                self.assertEqual(other.put(b"a")[:9], b"INSERTED ")
        self.assertLess(sent, 1 << 28)
        slow.socket.settimeout(START_S)
        # A client that begins to read gets all replies, in their order.
        for _ in range(200):
            words = slow.line().split()
            self.assertEqual(words[0], b"OK")
            slow.take(int(words[1]) + 2)
        self.assertEqual(other.put(b"a")[:9], b"INSERTED ")

    def test_a_large_pipeline(self):
        client = self.serve().connect()
        count = 20000
        data = b"".join(b"put 1 0 60 8\r\n%08d\r\n" % i for i in range(count))
        client.socket.setblocking(True)
        received = 0
        position = 0
        while received < count:
            if position < len(data):
                position += client.socket.send(data[position:position + (1 << 18)])
            received += 1
            self.assertEqual(client.line(), b"INSERTED %d" % received)

    def test_too_few_descriptors(self):
        server = self.serve(preexec_fn=few_files(48))
        host, _, port = server.addresses()[0].rpartition(":")
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])
        for _ in range(40):
            clients.append(Client(socket.create_connection((host, int(port)), START_S)))
        server.wait_for(b"no connection can be taken now: Too many open files")
        self.assertEqual(clients[0].put(b"a"), b"INSERTED 1")
        # The server waits between two attempts to take a connection, and does not log each one.
        began = time.monotonic()
        used = self.processor_seconds(server)
        time.sleep(0.5)
        used = self.processor_seconds(server) - used
        self.assertLess(used, (time.monotonic() - began) / 2)
        # These puts use many files: the journal has the descriptors that it needs.
        body = b"x" * 60000
        for i in range(40):
            self.assertEqual(clients[0].put(body), b"INSERTED %d" % (i + 2))
        # The clients that waited get their turn when others have gone.
        for client in clients[:-1]:
            client.close()
        self.assertEqual(clients[-1].put(b"b"), b"INSERTED 42")
        self.assertLessEqual(server.log().count(b"no connection can be taken"), 40)
        server.stop()

    def test_a_log_of_many_files_keeps_descriptors_to_grow(self):
        server = self.serve("--segment-bits", "18", "--durability", "interval=100",
                            preexec_fn=few_files(200))
        host, _, port = server.addresses()[0].rpartition(":")
        clients = [server.connect()]
        body = b"x" * 60000
        for i in range(400):
            self.assertEqual(clients[0].put(body, 1000), b"INSERTED %d" % (i + 1))
        time.sleep(1.2)  # the server counts its files each second
        for _ in range(2):  # the second answer comes after the count, even if the server stood still
            self.assertEqual(clients[0].ask(b"use default\r\n"), b"USING default")
        self.addCleanup(lambda: [client.close() for client in clients])
        for _ in range(100):
            clients.append(Client(socket.create_connection((host, int(port)), START_S)))
        server.wait_for(b"no connection can be taken now: Too many open files")
        for i in range(80):
            self.assertEqual(clients[0].put(body, 1000), b"INSERTED %d" % (i + 401))
        server.stop()

    def processor_seconds(self, server):
        with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_too_many_connections(self):
        server = self.serve("--max-connections", "2")
        clients = [server.connect() for _ in range(2)]
        for client in clients:
            self.assertEqual(client.ask(b"use t\r\n"), b"USING t")
        self.assertTrue(server.connect().is_closed())
        server.wait_for(b"a connection was refused")
        clients[0].close()
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            client = server.connect()
            try:
                if client.ask(b"use t\r\n") == b"USING t":
                    return
            except (EOFError, ConnectionError):
                pass
        self.fail("the place of a connection that has ended was not used again")

    def test_two_protocols_on_one_port(self):
        server = self.serve()
        beans, redis = server.connect(), server.connect()
        self.assertEqual(beans.ask(b"use t\r\n"), b"USING t")
        self.assertEqual(beans.put(b"body"), b"INSERTED 1")
        redis.send(b"*2\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n")
        self.assertEqual(redis.line(), b"*1")
        server.stop()
        server = self.serve("--no-beanstalkd")
        self.assertTrue(self.says_no(server.connect()))
        redis = server.connect()
        self.assertEqual(redis.ask(b"*1\r\n$4\r\nPING\r\n"), b"+PONG")

    def says_no(self, client):
        client.send(b"use t\r\n")
        try:
            return client.line() != b"USING t"
        except (EOFError, ConnectionError):
            return True

    def test_a_reserve_is_answered_when_a_job_comes(self):
        server = self.serve()
        worker, client = server.connect(), server.connect()
        worker.send(b"reserve\r\n")
        self.assertEqual(client.put(b"now"), b"INSERTED 1")
        self.assertEqual((worker.line(), worker.line()), (b"RESERVED 1 3", b"now"))
        worker.send(b"reserve\r\n")
        self.assertEqual(client.put(b"later", delay_s=1), b"INSERTED 2")
        self.assertEqual((worker.line(), worker.line()), (b"RESERVED 2 5", b"later"))
        self.assertEqual(worker.ask(b"reserve-with-timeout 1\r\n"), b"TIMED_OUT")


class Life(ServeTest):
    def test_acknowledged_jobs_survive_a_kill(self):
        server = self.serve()
        client = server.connect()
        count = 2000
        client.send(b"".join(b"put 1 0 60 8\r\n%08d\r\n" % i for i in range(count)))
        acknowledged = [int(client.line().split()[1]) for _ in range(count // 2)]
        server.kill()
        server = self.serve()
        client = server.connect()
        found = {client.reserve() for _ in acknowledged}
        self.assertEqual({number for number, _ in found}, set(acknowledged))
        for number, body in found:
            self.assertEqual(int(body), number - 1)
        server.stop()

    def test_a_clean_stop_keeps_everything_and_releases_leases(self):
        server = self.serve()
        client = server.connect()
        self.assertEqual(client.put(b"a"), b"INSERTED 1")
        self.assertEqual(client.put(b"b", delay_s=3600), b"INSERTED 2")
        self.assertEqual(client.reserve(), (1, b"a"))
        log = server.stop()
        self.assertIn(b"stopping: ", log)
        self.assertTrue(log.endswith(b"stopped: everything is durable\n"), log)
        self.assertTrue(client.is_closed())
        # beanstalkd's leases end with their connection.
        client = self.serve().connect()
        self.assertEqual(client.reserve(), (1, b"a"))

    def test_a_stop_ends_many_leases(self):
        client = self.serve().connect()
        count = 3000
        client.send(b"put 1 0 60 1\r\na\r\n" * count)
        self.assertEqual([client.line() for _ in range(count)][-1], b"INSERTED %d" % count)
        for _ in range(5):
            client.send(b"reserve\r\n" * count)
            for _ in range(count):
                self.assertEqual(client.line()[:9], b"RESERVED ")
                client.line()
            self.servers[-1].stop()
            client = self.serve().connect()
        self.servers[-1].stop()

    def test_replies_that_are_due_are_sent_before_the_end(self):
        server = self.serve("--durability", "interval=1")
        client = server.connect()
        for _ in range(20):
            client.send(b"put 1 0 60 1\r\na\r\n" * 100)
        self.assertEqual(client.line(), b"INSERTED 1")
        server.stop()
        replies = client.buffer
        while True:
            try:
                data = client.socket.recv(1 << 16)
            except ConnectionError:
                break
            if not data:
                break
            replies += data
        lines = replies.split(b"\r\n")
        # Each put that ran has its whole reply, and the jobs are there.
        self.assertEqual(lines[-1], b"")
        told = [int(line.split()[1]) for line in lines[:-1]]
        self.assertEqual(told, list(range(2, len(told) + 2)))
        client = self.serve().connect()
        words = client.ask(b"stats-tube default\r\n").split()
        self.assertIn(b"current-jobs-ready: %d\n" % (len(told) + 1),
                      client.take(int(words[1]) + 2))

    def test_interrupt_ends_it_too(self):
        server = self.serve()
        server.wait_for(b" ready: ")
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait(), 0)

    def test_a_second_process_is_refused_by_name(self):
        server = self.serve()
        server.wait_for(b" ready: ")
        status, log = self.refused()
        self.assertEqual(status, STATUS_USAGE)
        self.assertIn(f"process {server.process.pid} has opened this queue", log)
        self.assertEqual(server.connect().put(b"a"), b"INSERTED 1")

    def test_usr1_refuses_puts(self):
        server = self.serve()
        client = server.connect()
        self.assertEqual(client.put(b"a"), b"INSERTED 1")
        server.signal(signal.SIGUSR1)
        server.wait_for(b"refusing-puts: ")
        self.assertEqual(client.put(b"b"), b"DRAINING")
        self.assertEqual(client.reserve(), (1, b"a"))

    def test_memory_leaves_nothing(self):
        server = self.serve("--durability", "memory")
        client = server.connect()
        for i in range(3000):
            client.send(b"put 1 0 60 200\r\n%0200d\r\n" % i)
        for i in range(3000):
            self.assertEqual(client.line(), b"INSERTED %d" % (i + 1))
        for i in range(3000):
            self.assertEqual(client.reserve(), (i + 1, b"%0200d" % i))
        server.stop()
        self.assertFalse((self.directory / "d").exists())

    def notified(self):
        """Returns a socket like the one to which a server notifies a service manager, and the
        environment with which the server finds it."""
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(os.fspath(self.directory / "notify"))
        manager.settimeout(START_S)
        self.addCleanup(manager.close)
        environment = {**os.environ, "NOTIFY_SOCKET": os.fspath(self.directory / "notify"),
                       "WATCHDOG_USEC": "200000"}
        environment.pop("WATCHDOG_PID", None)
        return manager, environment

    def test_the_service_manager_hears_of_it(self):
        manager, environment = self.notified()
        server = self.serve(env=environment)
        self.assertEqual(manager.recv(100), b"READY=1")
        self.assertEqual([manager.recv(100) for _ in range(3)], [b"WATCHDOG=1"] * 3)
        server.signal(signal.SIGTERM)
        heard = manager.recv(100)
        while heard == b"WATCHDOG=1":
            heard = manager.recv(100)
        self.assertEqual(heard, b"STOPPING=1")
        self.assertEqual(server.wait(), 0)

    def test_a_manager_that_has_gone_is_no_error(self):
        environment = {**os.environ, "NOTIFY_SOCKET": "/nowhere/at/all"}
        self.serve(env=environment).stop()

    def test_max_memory_refuses_puts(self):
        server = self.serve("--max-memory", "1")
        client = server.connect()
        end = time.monotonic() + START_S
        answer = client.put(b"a")
        while answer != b"OUT_OF_MEMORY" and time.monotonic() < end:
            answer = client.put(b"a")
        self.assertEqual(answer, b"OUT_OF_MEMORY")
        self.assertEqual(client.reserve()[1], b"a")

    def test_an_idle_connection_ends(self):
        server = self.serve("--idle", "1s")
        waiting = self.connect_in_time(server, lambda client: self.assertEqual(
            client.ask(b"use default\r\nreserve\r\n"), b"USING default"))
        self.assertTrue(server.connect().is_closed())
        self.connect_in_time(server, lambda client: self.assertEqual(client.put(b"a"), b"INSERTED 1"))
        self.assertEqual(waiting.line(), b"RESERVED 1 1")

    def connect_in_time(self, server, begin):
        """A connection that has begun before it was idle for a second. Connects again if the machine stood still
        for so long."""
        for tries in range(10):
            began = time.monotonic()
            client = server.connect()
            try:
                begin(client)
                return client
            except (EOFError, ConnectionError):
                if time.monotonic() - began < 0.9 or tries == 9:
                    raise


if __name__ == "__main__":
    support.main()
