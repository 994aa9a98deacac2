"""Computes to which partition a key belongs, from docs/cluster_protocol.md alone."""


def partition_of(tube, key, partitions):
    tube, key = tube.encode(), key.encode()
    value = 14695981039346656037
    for byte in bytes([len(tube)]) + tube + key:
        value = (value ^ byte) * 1099511628211 % 2**64
    return (value ^ value >> 32) % partitions


def key_in(part, partitions, tube, begin):
    """The first key `begin`-N that is in the partition."""
    number = 0
    while partition_of(tube, f"{begin}-{number}", partitions) != part:
        number += 1
    return f"{begin}-{number}"
