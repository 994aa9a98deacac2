"""What bad clients do. Each attack is a function with three arguments: the port, the scale (1 is the long
form), and a function that the attack calls when it is under way. It runs in a process of its own. If it
raises an exception, that is a failure."""

import itertools
import select
import socket
import time

BODY_BYTES = 65535
HOGS_LEAST = 40
SOME = 65536


def connect(port, receive_bytes=None):
    made = socket.socket()
    if receive_bytes is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    made.settimeout(60)
    made.connect(("127.0.0.1", port))
    return made


def command(*arguments):
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        data = argument if isinstance(argument, bytes) else str(argument).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


def read_line(connected):
    line = b""
    while not line.endswith(b"\r\n"):
        byte = connected.recv(1)
        assert byte, f"the connection ended in {line!r}"
        line += byte
    return line[:-2]


def read_to_end(connected):
    """Returns all that comes until the other side closes the connection."""
    came = b""
    try:
        while piece := connected.recv(SOME):
            came += piece
    except ConnectionError:
        pass
    return came


def is_open(connected):
    """Returns whether the server still answers this connection of beanstalkd's protocol."""
    connected.sendall(b"use still\r\n")
    return read_line(connected) == b"USING still"


def is_open_resp(connected):
    connected.sendall(command("PING"))
    return read_line(connected) == b"+PONG"


def stuff(connections, data, until_quiet_s=0.3):
    """Sends the data again and again to all, as long as the server takes anything. Returns how many
    bytes it took."""
    for connected in connections:
        connected.setblocking(False)
    rest = {connected: b"" for connected in connections}
    taken, quiet_since = 0, time.monotonic()
    while time.monotonic() - quiet_since < until_quiet_s:
        _, writable, _ = select.select([], connections, [], 0.05)
        for connected in writable:
            try:
                sent = connected.send(rest[connected] or data)
            except BlockingIOError:
                continue
            rest[connected] = (rest[connected] or data)[sent:]
            taken += sent
            quiet_since = time.monotonic()
    return taken


def put_big(port, count, tube="big"):
    """Puts jobs with big bodies. Returns the first id."""
    with connect(port) as connected:
        connected.sendall(b"use %s\r\n" % tube.encode())
        assert read_line(connected).startswith(b"USING")
        first = None
        for _ in range(count):
            connected.sendall(b"put 0 0 3600 %d\r\n%s\r\n" % (BODY_BYTES, b"b" * BODY_BYTES))
            answer = read_line(connected).split()
            assert answer[0] == b"INSERTED", answer
            first = first or int(answer[1])
        return first


def scaled(count, scale, least=1):
    return max(least, int(count * scale))


# ---- clients that do not read ----


def slow_peeks(port, scale, under_way):
    first = put_big(port, 1)
    slow = [connect(port, 4096) for _ in range(scaled(20, scale, 4))]
    under_way()
    stuff(slow, b"peek %d\r\n" % first * 4000)


def slow_lookups(port, scale, under_way):
    first = put_big(port, 1)
    slow = [connect(port, 4096) for _ in range(scaled(20, scale, 4))]
    under_way()
    stuff(slow, command("LOOKUPID", first) * 2000)


def slow_reserves(port, scale, under_way):
    put_big(port, scaled(1000, scale, 200))
    slow = [connect(port, 4096) for _ in range(scaled(20, scale, 4))]
    under_way()
    stuff(slow, command("RESERVE", "big", "COUNT", 10) * 2000)


def slow_great_reserves(port, scale, under_way):
    put_big(port, scaled(4000, scale, 400))
    slow = [connect(port, 4096) for _ in range(4)]
    under_way()
    stuff(slow, command("RESERVE", "big", "COUNT", 1000) * 10, 1)


def slow_lists(port, scale, under_way):
    with connect(port) as connected:
        for i in range(1000):
            connected.sendall(command("PUT", "many", "", "IN", "1h", "KEY", f"{i:0240}"))
            assert read_line(connected) == b"*2"
            read_line(connected)
            read_line(connected)
    slow = [connect(port, 4096) for _ in range(scaled(20, scale, 4))]
    under_way()
    stuff(slow, command("LIST", "many", "COUNT", 1000) * 2000)


def hogs(port, scale, under_way):
    """Many clients, each of which sends all its commands at once."""
    first = put_big(port, 1)
    asked = command("LOOKUPID", first) * 5000
    stay = [connect(port) for _ in range(scaled(400, scale, HOGS_LEAST))]
    under_way()
    for connected in stay:
        connected.setblocking(False)
        connected.send(asked)
    time.sleep(max(1, 5 * scale))


# ---- clients that stay ----


def halves(port, scale, under_way):
    body = b"put 0 0 60 %d\r\n" % BODY_BYTES + b"h" * 60000
    resp = command("PUT", "half", b"h" * 60000)[:-10]
    starts = [b"p", b"put 0 0 60 10\r\n12", b"*3\r\n$3\r\nPU", body, resp, b"*", b"\r", b"GET / HTT"]
    stay = []
    for start in itertools.islice(itertools.cycle(starts), scaled(2000, scale)):
        stay.append(connect(port))
        stay[-1].sendall(start)
    under_way()
    time.sleep(max(0.4, 5 * scale))
    assert not select.select(stay[:500], [], [], 0)[0], "half a command was answered"


def idle(port, scale, under_way):
    stay = [connect(port) for _ in range(scaled(10000, scale))]
    under_way()
    time.sleep(max(0.3, 5 * scale))
    # None was closed; the first and the last are served.
    poll = select.poll()
    for connected in stay:
        poll.register(connected, select.POLLIN)
    assert not poll.poll(0), "an idle connection was closed"
    assert is_open(stay[0]) and is_open_resp(stay[-1])


def come_and_go(port, scale, under_way):
    under_way()
    begun, done, seconds = time.monotonic(), 0, max(1, 20 * scale)
    while time.monotonic() - begun < seconds:
        with connect(port) as connected:
            if done % 3 == 0:
                connected.sendall(b"use x\r\n" if done % 2 else b"reserve\r\n")
            elif done % 3 == 1:
                assert is_open(connected)
        done += 1
        ahead = done / 1000 - (time.monotonic() - begun)
        if ahead > 0:
            time.sleep(ahead)
    return f"{done / (time.monotonic() - begun):.0f}/s"


def too_many(port, scale, under_way):
    """More connections than the server has descriptors for. Those that it does not take wait."""
    made = []
    for _ in range(200):
        made.append(connect(port))
    under_way()
    time.sleep(max(1, 5 * scale))
    for connected in made[:150]:
        connected.close()
    assert is_open(made[-1]), "a connection that waited is not served once there is room"


# ---- bytes without sense ----


def great_header(port, scale, under_way):
    under_way()
    with connect(port) as connected:
        connected.sendall(b"*2\r\n$4\r\nECHO\r\n$1073741824\r\n")
        assert read_to_end(connected).startswith(b"-ERR Protocol error: invalid bulk length")
    with connect(port) as connected:
        size = int((512 << 20) * scale) or SOME
        announced = 512 << 20
        connected.sendall(b"*2\r\n$4\r\nECHO\r\n$%d\r\n" % announced)
        piece = b"g" * SOME
        for _ in range(size // SOME):
            connected.sendall(piece)
        if size == announced:
            connected.sendall(b"\r\n")
            assert read_line(connected).startswith(b"-ERR too long")
            assert is_open_resp(connected)


def nested(port, scale, under_way):
    under_way()
    for _ in range(scaled(200, scale)):
        with connect(port) as connected:
            # What was sent behind the error may reset the connection before the reply was read.
            connected.sendall(b"*1\r\n" * 10000)
            assert read_to_end(connected) in (b"", b"-ERR Protocol error: expected '$'\r\n")


def many_arguments(port, scale, under_way):
    under_way()
    for _ in range(scaled(10, scale)):
        with connect(port) as connected:
            connected.sendall(b"*1000000\r\n" + b"$1\r\nx\r\n" * 1000000)
            assert read_line(connected).startswith(b"-ERR too many arguments")
            assert is_open_resp(connected)
    for count in (b"1048577", b"999999999", b"9999999999", b"-1", b"0", b"01"):
        with connect(port) as connected:
            connected.sendall(b"*%s\r\n" % count)
            assert read_to_end(connected).startswith(b"-ERR Protocol error: invalid multibulk")


def long_line(port, scale, under_way):
    under_way()
    for _ in range(scaled(10, scale)):
        with connect(port) as connected:
            for _ in range(10 * (1 << 20) // SOME):
                connected.sendall(b"l" * SOME)
            connected.sendall(b"\r\n")
            assert read_line(connected) == b"BAD_FORMAT"
            assert is_open(connected)
        for start in (b"*", b"*1\r\n$"):
            with connect(port) as connected:
                try:
                    for _ in range(10 * (1 << 20) // SOME):
                        connected.sendall(start + b"1" * SOME)
                        start = b""
                except ConnectionError:
                    continue
                answer = read_to_end(connected)
                assert answer == b"" or answer.startswith(b"-ERR Protocol error: invalid"), answer


def http(port, scale, under_way):
    with connect(port) as connected:
        connected.sendall(b"use web\r\nput 0 0 60 1\r\nx\r\n")
        read_line(connected)
        number = int(read_line(connected).split()[1])
    under_way()
    orders = b"delete %d\r\n" % number
    for _ in range(scaled(300, scale)):
        for request in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + orders,
                        b"POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n" + orders,
                        b"GET /" + b"a" * 10000 + b" HTTP/1.1\r\n" + orders,
                        b"OPTIONS * HTTP/1.0\r\n\r\n" + orders):
            with connect(port) as connected:
                connected.sendall(request)
                answer = read_to_end(connected)
                assert b"DELETED" not in answer, answer
    with connect(port) as connected:
        connected.sendall(b"peek %d\r\n" % number)
        assert read_line(connected).startswith(b"FOUND"), "a request from a browser deleted a job"


def garbage(port, scale, under_way):
    under_way()
    for seed in range(scaled(2000, scale)):
        # Some bytes, without a source of chance: those of a linear congruence.
        state, data = seed, bytearray(b"*" if seed % 2 else b"")
        for _ in range(200):
            state = (state * 1103515245 + 12345) % (1 << 31)
            data.append(state >> 16 & 255)
        with connect(port) as connected:
            try:
                connected.sendall(bytes(data) + b"\r\n")
                connected.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            read_to_end(connected)
