"""A port for a server that ends and comes back at the same address."""

import random
import socket


def lasting_port():
    """A port of loopback that is free, and stays so while its server is away: it is none of those that the system gives
    to clients, and to servers that ask for any port."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        least, most = map(int, file.read().split())
    ports = [port for port in range(10_000, 65_536) if not least <= port <= most]
    while True:
        port = random.choice(ports)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
