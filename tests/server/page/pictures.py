#!/usr/bin/env python3
"""Takes pictures of the page for people to look at. They show it on a phone and on a desk, dark and light,
with no job, with ten jobs, and with ten million jobs. For the last ones the script starts a server of
its own.

    ELAPSE_PROGRAM=build/release/elapse tests/server/page/pictures.py DIRECTORY [--jobs 10000000]

With --situations it shows what somebody on call meets: 10,000 tubes of which three are in trouble, a
buried job, the question before many jobs are cancelled, who works, what recurs, the last day, groups that
limits hold back, a user without an overview, a phone, and dark. Those of docs/pictures are made so.
"""

import argparse
import pathlib
import random
import sys
import tempfile
import threading
import time

import browser as chromium
import page_test
from page_test import serving

AT_ONCE = 20_000
PICTURES = {0: ["phone-dark", "desk-light"], 10: ["phone-light", "desk-dark"], "many": ["phone-dark", "desk-light"]}


def pipelined(client, commands):
    """Sends commands while it reads their replies, because the server stops reading where nobody reads."""
    def send():
        for command in commands:
            client.socket.sendall(command)
    sender = threading.Thread(target=send)
    sender.start()
    return sender


def put_ten(client):
    client.ask("PUT", "mails", "sent an hour ago")
    [[number, lease, *_]] = client.ask("RESERVE", "mails")
    client.ask("ACK", number, lease)
    for index, delay in enumerate(["20s", "45s", "3m", "11m", "25m", "25m", "2h", "14h", "5d", "100d"]):
        client.ask("PUT", "mails" if index % 3 else "orders", f"job {index}", "KEY", index, "IN", delay)


TUBES = ["orders.payment-deadline"] * 12 + ["mails"] * 5 + ["reminders/subscription-ends"] * 2 + ["reports"]


def work(port, stop):
    """A worker that does nothing, well: so the due jobs of the picture do not wait."""
    with serving.Connection(port) as client:
        while not stop.is_set():
            found = client.ask("RESERVE", *sorted(set(TUBES)), "COUNT", "1000", "WAIT", "500ms")
            if found:
                client.ask("ACK", *(part for number, lease, *_ in found for part in (number, lease)))


def put_many(client, count):
    """Most are due within weeks, fewer later, and more at full hours: deadlines as people set them."""
    source = random.Random(1)

    def commands():
        for first in range(0, count, AT_ONCE):
            parts, now_s = [], int(time.time())
            for number in range(first, min(first + AT_ONCE, count)):
                delay_s = 60 + int(source.expovariate(1 / (9 * 86400)))
                how, when = "IN", f"{delay_s * 1000 + number % 1000}ms"
                if number % 5 == 0:
                    due_s = now_s + delay_s
                    how, when = "AT", str((due_s - due_s % 3600 + 3600) * 1000)
                tube = TUBES[number % 20]
                parts.append(f"*5\r\n$3\r\nPUT\r\n${len(tube)}\r\n{tube}\r\n$5\r\nhello\r\n$2\r\n{how}\r\n${len(when)}\r\n{when}\r\n")
            yield "".join(parts).encode()
    sender = pipelined(client, commands())
    for number in range(count):
        client.file.readline()  # *2
        client.file.readline()  # :id
        if client.file.readline() != b"+scheduled\r\n":
            sys.exit(f"put {number} was refused")
    sender.join()


def take(window, running, names, directory, what):
    for name in names:
        size, theme = name.split("-")
        window.size(chromium.PHONE if size == "phone" else chromium.DESK)
        window.theme(theme)
        window.open(running.address)
        time.sleep(3)  # for two more statuses
        window.picture(f"{directory}/{name}-{what}.png")
        window.picture(f"{directory}/{name}-{what}-top.png", whole=False)
        print(f"{directory}/{name}-{what}.png", window.complaints() or "")


def fill_situations(client):
    """Fills 10,000 tubes with a job for later each. Three of them are in trouble."""
    client.ask("HELLO", "3")
    for first in range(0, 10_000, 1000):
        for number in range(first, first + 1000):
            client.send("PUT", f"tenant-{number:05}", "hello", "IN", "10h")
        for _ in range(1000):
            client.receive()
    client.ask("CLIENT", "SETNAME", "mailer-1")
    for number in range(12):
        client.ask("PUT", "tenant-07345", f'{{"order":{4700 + number},"to":"ann@example.com"}}', "KEY", f"order-{4700 + number}", "TAG", "spring",
                   "HEADERS", '{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}', "BACKOFF", "0s", "0s", "ATTEMPTS", "2")
    for _ in range(2):
        for number, lease, *_ in client.ask("RESERVE", "tenant-07345", "COUNT", "12"):
            client.ask("NACK", number, lease, "ERROR", "no route to host: smtp.example.com:25")
    client.ask("LIMIT", "mails", "GROUPCONCURRENCY", "2", "GROUPRATE", "10", "PER", "1m")
    for group, many in (("ann", 40), ("bob", 3), ("cleo", 25), ("dora", 1)):
        for number in range(many):
            client.ask("PUT", "mails", f"letter {number}", "GROUP", group)
    client.ask("RESERVE", "mails", "COUNT", "6")
    client.ask("PUT", "bills", "november")
    client.ask("RESERVE", "bills", "HOLDER", "billing-2")
    client.ask("PUT", "reports", "hello")
    client.ask("PAUSE", "reports", "45m")
    client.ask("PUT", "reports", "rebuild the index", "EVERY", "15m", "KEY", "index")
    client.ask("PUT", "reports", "the figures of the day", "CRON", "0 6 * * mon-fri", "ZONE", "Europe/Berlin", "KEY", "figures")
    client.ask("PUT", "bills", "dunning letters", "CRON", "30 8 1 * *", "ZONE", "America/New_York", "KEY", "dunning")


def take_situations(window, directory):
    def shoot(name, whole=False):
        time.sleep(2.5)  # for two more statuses
        window.picture(f"{directory}/page-{name}.png", whole=whole)
        print(f"{directory}/page-{name}.png", window.complaints() or "")

    def go(address, selector, text):
        window.driver.get(running.address + address)
        window.wait_for_text(selector, text)

    with page_test.server("--durability", "interval=50") as running, page_test.serving.Connection(running.port) as client:
        fill_situations(client)
        window.size(chromium.DESK)
        window.theme("light", "reduce")
        go("", "#tube-rows", "tenant-07345")
        shoot("tubes")
        window.theme("dark", "reduce")
        shoot("dark")
        window.theme("light", "reduce")
        go("#/tubes/tenant-07345?state=buried", "#list-text", "These are all 12 buried jobs.")
        shoot("buried")
        window.find("#list-rows a.id").click()
        window.wait_for_text("#job-found", "no route to host")
        shoot("job")
        go("#/tubes/tenant-07345?state=buried", "#list-text", "These are all 12 buried jobs.")
        window.wait_for_text("#list-actions", "Cancel all 12 buried")
        window.run("[...document.querySelectorAll('#list-actions button')].find((one) => one.textContent === 'Cancel all 12 buried').click()")
        shoot("cancel")
        go("#/tubes/mails", "#held-text", "groups are held back")
        shoot("held")
        go("#/workers", "#workers-text", "2 workers have")
        shoot("workers")
        go("#/recurring", "#recurring-text", "3 jobs")
        shoot("recurring")
        window.size(chromium.PHONE)
        go("", "#tube-rows", "tenant-07345")
        shoot("small")
        go("#/tubes/mails", "#held-text", "groups are held back")
        shoot("small-held", whole=True)
    with page_test.stand_in.StandIn(page_test.stand_in.statuses()["millions"]) as shown:
        window.size(chromium.DESK)
        window.open(shown.address)
        window.wait(lambda: window.find("#day").is_displayed(), "the last day")
        window.run("document.querySelector('#day').scrollIntoView()")
        shoot("day")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=10_000_000)
    parser.add_argument("--situations", action="store_true")
    arguments = parser.parse_args()
    chromium.need()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    if arguments.situations:
        with chromium.browser() as window:
            take_situations(window, arguments.directory)
        return
    with chromium.browser() as window, tempfile.TemporaryDirectory() as data:
        for count, names in PICTURES.items():
            folder = pathlib.Path(data, str(count))
            folder.mkdir()
            running = page_test.Server(str(folder), "--segment-bits", "26", "--durability", "interval=50")
            with serving.Connection(running.port) as client:
                begun = time.monotonic()
                if count == 10:
                    put_ten(client)
                elif count == "many":
                    stop = threading.Event()
                    worker = threading.Thread(target=work, args=(running.port, stop))
                    worker.start()
                    put_many(client, arguments.jobs)
                    print(f"{arguments.jobs} puts in {time.monotonic() - begun:.0f} s")
                if count == "many":
                    time.sleep(70)  # the minute of the puts is over
                take(window, running, names, arguments.directory, arguments.jobs if count == "many" else count)
                if count == "many":
                    stop.set()
                    worker.join()
            running.end()


if __name__ == "__main__":
    main()
