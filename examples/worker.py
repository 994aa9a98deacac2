#!/usr/bin/env python3
"""worker.py [PORT [COUNT]]: does the jobs of the tube `mails` of `elapse serve`, with redis-py.

With COUNT it ends after so many hand-outs. To give it something to do:

    redis-cli -p 11300 PUT mails hello IN 2s ATTEMPTS 5 BACKOFF 1s 10m
"""

import sys

import redis

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 11300
LEFT = int(sys.argv[2]) if len(sys.argv) > 2 else sys.maxsize


def do(body):
    """The work. A job may be handed out twice, so it must be safe to repeat."""
    if body == b"broken":
        raise ValueError("it cannot be done")


def work(queue, left):
    while left > 0:
        # The client's own time-out has to be longer than WAIT.
        jobs = queue.execute_command("RESERVE", "mails", "COUNT", min(left, 10), "WAIT", "5s")
        for number, lease, _tube, _key, body, _due, _attempt, _missed in jobs:
            left -= 1
            try:
                do(body)
            except ValueError:
                queue.execute_command("NACK", number, lease)
                print("failed", body.decode(), flush=True)
            else:
                queue.execute_command("ACK", number, lease)
                print("did", body.decode(), flush=True)


work(redis.Redis(port=PORT, socket_timeout=30), LEFT)
