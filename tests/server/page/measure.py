#!/usr/bin/env python3
"""Measures the page. It is run by hand:

    ELAPSE_PROGRAM=build/release/elapse tests/server/page/measure.py [stopwatch | bytes | load]

    stopwatch   clicks and seconds from opening the page until the one buried job is kicked, among a
                million jobs, in one tube of 10,000
    bytes       how many bytes an open page with 200 tubes receives in an hour, with gzip and without
    load        how long PING takes with 10,000 tubes, while 20 pages are open, and while none is
"""

import http.client
import multiprocessing
import sys
import time

import browser as chromium
import page_test
import serving

TUBES, JOBS, BURIED_IN = 10_000, 1_000_000, "tube-07345"
BATCH = 2000


def fill(client, jobs, tubes):
    for first in range(0, jobs, BATCH):
        for number in range(first, min(first + BATCH, jobs)):
            client.send("PUT", f"tube-{number % tubes:05}", "x", "IN", "10h")
        for _ in range(first, min(first + BATCH, jobs)):
            client.receive()


def bury(client):
    client.ask("PUT", BURIED_IN, "the one")
    [[number, lease, *_]] = client.ask("RESERVE", BURIED_IN)
    client.ask("BURY", number, lease, "ERROR", "no route to host")


def stopwatch():
    clicks = 0
    with page_test.server() as running, serving.Connection(running.port) as client, chromium.browser() as window:
        fill(client, JOBS, TUBES)
        bury(client)
        window.size(chromium.DESK)

        def press(script, what):
            nonlocal clicks
            window.wait(lambda: window.run(f"const found = {script}; found?.click(); return Boolean(found)"), what)
            clicks += 1

        def button(text):
            return f"[...(document.querySelector('dialog[open]') ?? document.body).querySelectorAll('button')].find((one) => one.checkVisibility() && one.textContent === '{text}')"

        began = time.monotonic()
        window.driver.get(running.address)
        press("document.querySelector('#findings a')", "the tube that the verdict names")
        press(button("Kick all 1 buried"), "the button")
        press(button("Kick"), "the answer to the question")
        window.wait_for_text("#said", "1 job of tube-07345 kicked.")
        took = time.monotonic() - began
        client.ask("HELLO", "3")
        assert client.ask("STATS", BURIED_IN)["buried"] == 0
        print(f"stopwatch: {clicks} clicks, {took:.1f} s")


def read_events(port, seconds, gzip, counts):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/events", headers={"Accept-Encoding": "gzip"} if gzip else {})
    answer, end, size = connection.getresponse(), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        size += len(answer.read1())
    counts.append(size)


def bytes_an_hour():
    with page_test.server() as running, serving.Connection(running.port) as client:
        fill(client, 20_000, 200)
        for gzip in (True, False):
            counts = []
            read_events(running.http_port, 30, gzip, counts)
            print(f"bytes: 200 tubes, gzip {gzip}: {counts[0] * 120 / 1e6:.1f} MB an hour")


def pings(client, seconds):
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        client.ask("PING")
        times.append((time.perf_counter() - began) * 1000)
        time.sleep(0.002)
    times.sort()
    return f"half {times[len(times) // 2]:.2f} ms, 99 of 100 {times[len(times) * 99 // 100]:.2f} ms, the longest {times[-1]:.1f} ms"


def load():
    with page_test.server() as running, serving.Connection(running.port) as client:
        fill(client, 100_000, TUBES)
        bury(client)
        print(f"load: PING without a page: {pings(client, 15)}")
        # Processes: threads of this one would be measured too.
        readers = [multiprocessing.Process(target=read_events, args=(running.http_port, 20, True, []), daemon=True) for _ in range(20)]
        for reader in readers:
            reader.start()
        time.sleep(2)
        print(f"load: PING with 20 pages: {pings(client, 15)}")
        for reader in readers:
            reader.join()


if __name__ == "__main__":
    chromium.need()
    asked = sys.argv[1:] or ["stopwatch", "bytes", "load"]
    for name, action in (("stopwatch", stopwatch), ("bytes", bytes_an_hour), ("load", load)):
        if name in asked:
            action()
