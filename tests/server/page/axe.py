#!/usr/bin/env python3
"""Checks the page with axe-core in each of its states, and prints which rules are broken.

    npm install axe-core
    AXE=node_modules/axe-core/axe.min.js ELAPSE_PROGRAM=build/release/elapse tests/server/page/axe.py

The script ends with 1 if a rule is broken. It is run by hand, because axe-core comes from npm.
"""

import os
import pathlib
import sys

import browser as chromium
import page_test
import serving
import stand_in

RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then((result) => done(result.violations.map((one) =>
    `${one.id} (${one.impact}): ${one.help}: ${one.nodes.map((node) => node.html.slice(0, 90)).slice(0, 3).join(" | ")}`)));
"""


def examine(window, state):
    window.run(pathlib.Path(os.environ["AXE"]).read_text(encoding="utf-8"))
    window.driver.set_script_timeout(chromium.PATIENCE_S)
    found = window.driver.execute_async_script(RUN)
    print(f"{state}: {len(found)} violations", flush=True)
    for one in found:
        print(f"    {one}", flush=True)
    return len(found)


def jobs(client):
    for number in range(20):
        client.ask("PUT", "mails", f'{{"order":{number}}}', "KEY", f"order-{number}", "TAG", "spring", "HEADERS", '{"trace":"1"}')
    for number, lease, *_ in client.ask("RESERVE", "mails", "COUNT", "5"):
        client.ask("BURY", number, lease, "ERROR", "no route to host")
    client.ask("PUT", "reports", "daily", "EVERY", "1h")


def states(window, running, client):
    """Shows one state after the other, and yields its name."""
    def go(address, selector, text):
        window.driver.get(running.address + address)
        window.wait_for_text(selector, text)
    go("", "#findings", "buried")
    yield "all tubes"
    window.theme("dark", "reduce")
    yield "all tubes, dark"
    window.size(chromium.PHONE)
    yield "all tubes, dark, on a phone"
    go("#/tubes/mails?state=buried", "#list-text", "These are all 5 buried jobs.")
    yield "a tube, dark, on a phone"
    window.size(chromium.DESK)
    window.theme("light", "reduce")
    go("#/tubes/mails", "#list-text", "These are all 20 jobs.")
    window.find("#list-rows input").click()
    yield "a tube, with a job that is marked"
    go("#/jobs/1", "#job-found", "no route to host")
    yield "a job"
    window.run("[...document.querySelectorAll('#job-found button')].find((one) => one.textContent === 'Cancel this job').click()")
    yield "a question"
    go("#/find/order", "#found-text", "no such job")
    yield "a search"
    client.ask("RESERVE", "mails")
    go("#/workers", "#workers-text", "1 worker has 1 job")
    yield "who works"
    go("#/recurring", "#recurring-text", "1 job")
    yield "what recurs"
    client.ask("LIMIT", "mails", "GROUPORDER")
    for _ in range(2):
        client.ask("PUT", "mails", "hello", "GROUP", "ann")
    go("#/tubes/mails", "#held-text", "1 group is held back")
    yield "what limits hold back"
    window.run("[...document.querySelectorAll('#tube-actions button')].find((one) => one.textContent === 'Limit').click()")
    window.wait_for_text("#limit-dialog", "Limit tube mails?")
    yield "limits"
    window.driver.get(running.address)
    window.wait_for_text("#connection", "Live")
    window.find("#open-put").click()
    yield "putting a job"


def main():
    chromium.need()
    violations = 0
    with page_test.server() as running, serving.Connection(running.port) as client, chromium.browser() as window:
        jobs(client)
        window.size(chromium.DESK)
        window.theme("light", "reduce")
        for state in states(window, running, client):
            violations += examine(window, state)
        for name in ("empty", "trouble", "node", "twelve"):
            with stand_in.StandIn(stand_in.statuses()[name]) as shown:
                window.open(shown.address)
                violations += examine(window, f"stand-in: {name}")
                shown.mode = "closed"
                if name == "trouble":
                    window.wait_for_text("#connection", "Lost")
                    violations += examine(window, "connection lost")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
