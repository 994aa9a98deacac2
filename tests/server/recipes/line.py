"""A line to a server that breaks. The tests of recipes put it between a program and its servers."""

import contextlib
import socket
import threading


def hang_up(end):
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


class Line:
    """Listens on a free port of loopback, and carries bytes to and from the server that `connect`
    returns a socket to. `break_after` lets it break: `at_break` is called, all connections end, and
    new ones end at once, until `mend`."""

    UP, DOWN = range(2)  # to the server, and from it

    def __init__(self, connect, at_break=lambda: None):
        self.connect, self.at_break = connect, at_break
        self.lock = threading.Lock()
        self.budget, self.direction = None, self.UP
        self.ends, self.carriers = [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self.accept)
        self.acceptor.start()

    def break_after(self, budget, direction):
        """It breaks when so many bytes have passed in this direction."""
        with self.lock:
            self.budget, self.direction = budget, direction

    def is_broken(self):
        return self.budget == 0

    def mend(self):
        """All connections end, and it does not break again."""
        with self.lock:
            ends, self.ends = self.ends, []
            carriers, self.carriers = self.carriers, []
        for end in ends:
            hang_up(end)
        for carrier in carriers:
            carrier.join()
        for end in ends:
            end.close()
        self.budget = None

    def end(self):
        hang_up(self.listener)
        self.acceptor.join()
        self.listener.close()
        self.mend()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = self.connect()
            except OSError:
                client.close()
                continue
            with self.lock:
                self.ends += [client, server]
                for ends in ((client, server, self.UP), (server, client, self.DOWN)):
                    self.carriers.append(threading.Thread(target=self.carry, args=ends))
                    self.carriers[-1].start()

    def carry(self, source, target, direction):
        with contextlib.suppress(OSError):
            while not self.is_broken() and (data := source.recv(1 << 16)):
                data, breaks = self.take(data, direction)
                target.sendall(data)
                if breaks:
                    self.break_now()
        hang_up(source)
        hang_up(target)

    def take(self, data, direction):
        """What passes of the data, and whether the line breaks behind it."""
        with self.lock:
            if self.budget is None or direction != self.direction:
                return data, False
            data = data[:self.budget]
            self.budget -= len(data)
            return data, self.budget == 0

    def break_now(self):
        self.at_break()
        with self.lock:
            for end in self.ends:
                hang_up(end)
