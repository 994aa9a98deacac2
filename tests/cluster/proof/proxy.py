"""A proxy between a node and a server of PostgreSQL. It knows where messages end, and normally passes
everything on. A trap waits for the next append of a partition, and does one of these:

    hold     passes the append on up to its Execute, and withholds Sync for some time: the server has
             done the append, holds its locks, and has not committed
    cut      passes half of the append on, and closes both connections
    cut_late passes all of it on, withholds the answer, and closes both connections
"""

import asyncio
import os

TYPELESS = (80877103, 80877104)  # requests for TLS and GSSAPI, which are answered by one byte
SOCKET = ".s.PGSQL.5432"


def append_of(queue, part):
    """What an append of the partition has in its text, and no other statement."""
    return f"insert into elapse.log_{queue}_{part}_".encode()


class Trap:
    """`kind` as above. `sprung` is set when the append has come, `ended` when all is over."""

    def __init__(self, kind, needle, hold_s=0.0):
        self.kind, self.needle, self.hold_s = kind, needle, hold_s
        self.sprung, self.ended = asyncio.Event(), asyncio.Event()


class Session:
    """One connection of the node, and its own to the server."""

    def __init__(self, proxy, client, server):
        self.proxy = proxy
        self.from_client, self.to_client = client
        self.from_server, self.to_server = server
        self.is_mute = False  # withholds answers
        self.trap = None

    async def read_begin(self):
        """The first messages have no type."""
        while True:
            head = await self.from_client.readexactly(8)
            size, code = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")
            self.to_server.write(head + await self.from_client.readexactly(size - 8))
            if code not in TYPELESS:
                return

    async def forward(self):
        """From the node to the server, message by message."""
        await self.read_begin()
        while True:
            head = await self.from_client.readexactly(5)
            body = await self.from_client.readexactly(int.from_bytes(head[1:], "big") - 4)
            kind, message = head[:1], head + body
            if kind == b"P" and self.trap is None:
                self.trap = self.proxy.spring(body)
            if self.trap is not None:
                if not await self.meet(kind, message):
                    return
            else:
                self.to_server.write(message)
                await self.to_server.drain()

    async def meet(self, kind, message):
        """Deals with a message of the append that the trap waited for. Returns False to close."""
        trap = self.trap
        if trap.kind == "cut" and kind == b"B":
            self.to_server.write(message[:len(message) // 2])
            await self.to_server.drain()
            return False
        if trap.kind == "cut_late" and kind == b"P":
            self.is_mute = True
        if kind == b"S":
            if trap.kind == "hold":
                await asyncio.sleep(trap.hold_s)
            self.to_server.write(message)
            await self.to_server.drain()
            if trap.kind == "cut_late":
                await asyncio.sleep(trap.hold_s)
                return False
            trap.ended.set()
            self.trap = None
            return True
        self.to_server.write(message)
        await self.to_server.drain()
        return True

    async def backward(self):
        while data := await self.from_server.read(1 << 16):
            if not self.is_mute:
                self.to_client.write(data)
                await self.to_client.drain()

    async def run(self):
        ways = [asyncio.create_task(way()) for way in (self.forward, self.backward)]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            if self.trap is not None:
                self.trap.ended.set()
            self.to_client.close()
            self.to_server.close()


class Proxy:
    """Listens in `directory` as a server would, and passes on to the server in `target`."""

    def __init__(self, directory, target):
        self.directory, self.target = directory, target
        self.traps = []
        self.refuses = False  # new connections
        self.tasks = set()
        self.listener = None

    @property
    def host(self):
        return f"host={self.directory} user=elapse dbname=postgres"

    async def start(self):
        os.makedirs(self.directory, exist_ok=True)
        path = os.path.join(self.directory, SOCKET)
        if os.path.exists(path):
            os.unlink(path)
        self.listener = await asyncio.start_unix_server(self.serve, path)

    async def serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        try:
            if self.refuses:
                return
            path = os.path.join(self.target, SOCKET)
            server = await asyncio.open_unix_connection(path)
            await Session(self, (reader, writer), server).run()
        except OSError:
            pass  # there is no server, or it went away
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()
            self.tasks.discard(asyncio.current_task())

    def set_trap(self, trap):
        self.traps.append(trap)
        return trap

    def spring(self, text):
        """The trap that waited for this text, which has sprung now."""
        for trap in self.traps:
            if trap.needle in text:
                self.traps.remove(trap)
                trap.sprung.set()
                return trap
        return None

    async def stop(self):
        self.listener.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
