"""python_celery.py ADDRESS one|hundred|work COUNT: one measure of race.py with Celery, whose results are not kept, and
whose tasks are acknowledged when they are done."""

import json
import logging
import os
import sys
import threading
import time

import redis
from celery import Celery, group, signals

address, what, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
app = Celery("bench", broker=f"redis://{address}/0")
app.conf.update(task_ignore_result=True, task_acks_late=True, worker_prefetch_multiplier=100, broker_connection_retry_on_startup=True,
                worker_hijack_root_logger=False, worker_redirect_stdouts=False, worker_send_task_events=False, worker_enable_remote_control=False)
server = redis.Redis.from_url(f"redis://{address}/0")
BODY = {"to": "ann@example.org"}
times, done = [], 0


@app.task(name="jobs")
def jobs(body):
    if not times:
        times.append(time.perf_counter())


def left():
    return server.llen("celery") + server.hlen("unacked")


def put_all():
    """Puts all, a hundred at a time. Celery has no command for that: a group sends one after another."""
    with app.producer_or_acquire() as producer:
        for _ in range(count // 100):
            group(jobs.s(BODY) for _ in range(100)).apply_async(producer=producer)


def work():
    logging.disable(logging.CRITICAL)
    put_all()
    worker = app.Worker(pool="solo", concurrency=1, loglevel="CRITICAL", quiet=True, without_gossip=True, without_mingle=True,
                        without_heartbeat=True)

    @signals.task_postrun.connect
    def ended(**_):
        global done
        done += 1
        if done == count:
            threading.Thread(target=report, daemon=True).start()

    def report():
        while left():
            time.sleep(0.005)
        print(json.dumps({"seconds": time.perf_counter() - times[0], "count": done}), flush=True)
        os._exit(0)  # the end of a worker does not count

    worker.start()


if what == "work":
    work()
else:
    jobs.delay(BODY)
    begun = time.perf_counter()
    if what == "one":
        for _ in range(count):
            jobs.delay(BODY)
    else:
        put_all()
    seconds = time.perf_counter() - begun
    print(json.dumps({"seconds": seconds, "count": left() - 1}))
