#!/usr/bin/env python3
"""Tests the page of `elapse serve --http` in Chromium. Some tests use the server itself. Others use a
stand-in, because a real server shows some things only after minutes or with ten million jobs.

ELAPSE_PROGRAM names the program. Skipped if Chromium or Selenium is missing.
"""

import contextlib
import hashlib
import os
import pathlib
import re
import signal
import sys
import tempfile
import threading
import time
import unittest

import browser as chromium
import stand_in

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "resp"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import serving  # noqa: E402
from server_process import hold_port  # noqa: E402
from serving import ServerProcess  # noqa: E402

EXPECTED_OFFLINE = re.compile(r"/(events|api/v1/\S*) - Failed to load resource")
FORBIDDEN = re.compile(r"/api/v1/\S* - Failed to load resource: the server responded with a status of 403")
UNAUTHORIZED = re.compile(r"/events - Failed to load resource: the server responded with a status of 401")


class Server(ServerProcess):
    """`elapse serve --http`, on free ports of loopback unless they are given."""

    def __init__(self, directory, *options, port=0, http_port=0):
        super().__init__(directory + "/log",
                         ["--data", directory + "/data", "--segment-bits", "20",
                          "--listen", f"127.0.0.1:{port}", "--http", f"127.0.0.1:{http_port}",
                          *options])
        log = self.wait_for(b" ready: ")
        self.port = int(re.search(rb"listening: 127\.0\.0\.1:(\d+)", log).group(1))
        self.http_port = int(re.search(rb"listening: http:127\.0\.0\.1:(\d+)", log).group(1))
        self.address = f"http://127.0.0.1:{self.http_port}/"

    def end(self, by=signal.SIGTERM):
        self.signal(by)
        self.wait()


@contextlib.contextmanager
def server(*options):
    with tempfile.TemporaryDirectory() as directory:
        running = Server(directory, *options)
        try:
            yield running
        finally:
            running.end()


# Returns the visible texts, and the controls, that have less contrast than the Web Content Accessibility Guidelines (level
# AA) ask for: of a text the contrast between its colour and its background, of a control the contrast of its edge.
LOW_CONTRAST = """
const rgb = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
const linear = (value) => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const ratio = (one, other) => { const [a, b] = [light(one), light(other)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); };
function behind(element) {
    for (let at = element; at; at = at.parentElement) {
        const colour = rgb(getComputedStyle(at).backgroundColor);
        if (colour[3] === 1) return colour;
        if (colour[3] !== 0) throw new Error("a translucent background: " + at.outerHTML.slice(0, 80));
    }
    return [255, 255, 255, 1];
}
const low = [], seen = { texts: 0, edges: 0 };
const root = document.querySelector("dialog[open]") ?? document.body;
const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement, style = getComputedStyle(element);
    if (text === "" || !element.checkVisibility({ visibilityProperty: true }) || element.closest("script, style, :disabled, .unseen, .skip")) continue;
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const found = ratio(rgb(element instanceof SVGElement ? style.fill : style.color), behind(element));
    seen.texts++;
    if (found < (large ? 3 : 4.5)) low.push(`${text.slice(0, 40)}: ${found.toFixed(2)}`);
}
for (const control of root.querySelectorAll("button, input, select, textarea")) {
    if (!control.checkVisibility() || control.disabled) continue;
    const style = getComputedStyle(control), outside = behind(control.parentElement);
    seen.edges++;
    if (Math.max(ratio(rgb(style.borderTopColor), outside), ratio(rgb(style.backgroundColor), outside)) < 3) low.push(`edge of ${control.outerHTML.slice(0, 60)}`);
}
for (const bar of root.querySelectorAll("path.bars")) {
    seen.edges++;
    if (ratio(rgb(getComputedStyle(bar).fill), behind(bar.closest("div"))) < 3) low.push("the bars");
}
return { low, seen };
"""

# Returns what sticks out of the window to the right: on a phone it is hard to scroll there.
TOO_WIDE = """
const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility() && !element.closest(".unseen, .skip, .more, thead, svg"))
    .filter((element) => element.getBoundingClientRect().right > wide + 1 || element.scrollWidth > element.clientWidth + 1
        && getComputedStyle(element).overflowX === "visible" && getComputedStyle(element).display !== "inline")
    .map((element) => element.outerHTML.slice(0, 100));
"""

# Returns the elements that the keyboard can reach and that have no name for a person who hears the page.
NAMELESS = """
const name = (element) => element.getAttribute("aria-label") || element.labels?.[0]?.textContent.trim() || element.textContent.trim()
    || (element.getAttribute("aria-labelledby") && document.getElementById(element.getAttribute("aria-labelledby")).textContent.trim());
return [...document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex='0'], [role=img], [role=slider], dialog")]
    .filter((element) => element.checkVisibility() && !name(element)).map((element) => element.outerHTML.slice(0, 100));
"""


# Returns where the text of an element begins.
LEFT_OF_TEXT = """
const range = document.createRange();
range.selectNodeContents(document.querySelector(arguments[0]));
return range.getBoundingClientRect().left;
"""

# Returns what is small for a thumb: lower or narrower than 36 px, with the label around a box.
TOO_SMALL = """
return [...document.querySelectorAll("main a, main button, main input, summary")].filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest("thead"))
    .filter((one) => { const { width, height } = (one.closest("label") ?? one).getBoundingClientRect(); return width < 36 || height < 36; })
    .map((one) => one.outerHTML.slice(0, 100));
"""

# Opens the list of jobs of the first tube. Returns whether there is one.
PRESS_LIST = """
const button = document.querySelector('#tube-rows button[aria-label^="Jobs"]');
button?.click();
return button !== null;
"""


class PageTest(unittest.TestCase):
    """All tests use one window, and each opens the page anew. The pictured wheel stands still, which saves processor time."""

    window = None

    def setUp(self):
        if PageTest.window is None:
            PageTest.window = unittest.enterModuleContext(chromium.browser())
        self.window.size(chromium.DESK)
        self.window.theme("light", "reduce")
        self.allowed = []

    def tearDown(self):
        self.window.driver.get("about:blank")
        complaints = [one for one in self.window.complaints() if not any(allowed.search(one) for allowed in self.allowed)]
        self.assertEqual(complaints, [], "the console complains")

    def keys(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.window.driver).send_keys(*keys).perform()

    def fill(self, selector, text):
        field = self.window.find(selector)
        field.clear()
        field.send_keys(text)

    def click(self, selector):
        self.window.run("const found = document.querySelector(arguments[0]); found.scrollIntoView({block: 'center'}); found.click()", selector)

    def said(self, text):
        self.window.wait_for_text("#said", text)

    def focused(self):
        return self.window.run("return document.activeElement.id || document.activeElement.tagName.toLowerCase()")


class Shown(PageTest):
    """What the page shows, from statuses that are given."""

    def stand_in(self, name):
        return self.enterContext(stand_in.StandIn(stand_in.statuses()[name]))

    def test_each_picture_fits_and_can_be_read(self):
        for name, themes in (("empty", ()), ("ten", ("light", "dark")), ("millions", ()), ("trouble", ("light", "dark")), ("node", ("light", "dark")), ("twelve", ("light",))):
            shown = self.stand_in(name)
            self.window.open(shown.address)
            for size in (chromium.PHONE, chromium.DESK):
                self.window.size(size)
                for theme in themes:
                    with self.subTest(name=name, size=size, theme=theme):
                        self.window.theme(theme, "reduce")
                        found = self.window.run(LOW_CONTRAST)
                        self.assertEqual(found["low"], [])
                        self.assertGreater(found["seen"]["texts"], 40)
                        self.assertGreater(found["seen"]["edges"], 7)
                self.assertEqual(self.window.run(TOO_WIDE), [], (name, size))
            self.assertEqual(self.window.run(NAMELESS), [])

    def test_dialogs_can_be_read(self):
        self.window.open(self.stand_in("trouble").address)
        for theme in ("light", "dark"):
            self.window.theme(theme, "reduce")
            for button in ("#open-put", "#tube-rows button:nth-child(2)", "#tube-rows button:nth-child(3)"):
                with self.subTest(theme=theme, button=button):
                    self.click(button)
                    self.assertEqual(self.window.run(LOW_CONTRAST)["low"], [])
                    self.assertEqual(self.window.run(NAMELESS), [])
                    self.click("dialog[open] [data-close]")

    def test_the_contrast_check_finds_grey_on_grey(self):
        self.window.open(self.stand_in("ten").address)
        self.window.run("document.querySelector('h1').style.color = '#bbbbbb'; document.querySelector('#find button').style.borderColor = '#eeeeee'")
        self.assertEqual(len(self.window.run(LOW_CONTRAST)["low"]), 2)
        self.window.run("document.querySelector('h1').style.width = '3000px'")
        self.assertNotEqual(self.window.run(TOO_WIDE), [])

    def test_says_what_is_wrong(self):
        self.window.open(self.stand_in("trouble").address)
        self.window.wait_for_text("#verdict-title", "8 findings")
        for text in ("mails has waited for 12", "no worker", "damaged", "cannot read 2 places", "300", "fsync", "3,411 jobs buried", "no new jobs"):
            self.assertIn(text, self.window.text("#findings"))
        self.assertEqual(self.window.text("#answer-time .big"), "No")
        self.assertIn("mails", self.window.text("#tube-rows tr:first-child"), "the tube in trouble is first")
        self.assertTrue(self.window.driver.title.startswith("✕"))

    def test_a_cluster_is_shown_where_there_is_one(self):
        self.window.open(self.stand_in("ten").address)
        self.assertFalse(self.window.find("#cluster").is_displayed())
        self.window.open(self.stand_in("node").address)
        self.assertTrue(self.window.find("#cluster").is_displayed())
        self.assertFalse(self.window.find("#wheel-card").is_displayed())
        self.assertIn("This is node here of queue main. It owns 1 of 3 partitions", self.window.text("#cluster-note"))
        for row, words in ((1, ("0", "owning", "10.0.0.1:11300", "7", "0", "well")), (2, ("1", "following", "1,234", "does not answer")),
                           (3, ("2", "nobody"))):
            for word in words:
                self.assertIn(word, self.window.text(f"#cluster-rows tr:nth-child({row})"))
        self.window.wait_for_text("#verdict-title", "2 findings")
        for text in ("Partitions without an owner: 1.", "The database: it does not answer in time."):
            self.assertIn(text, self.window.text("#findings"))

    def test_nodes_copies_and_moves_are_shown(self):
        self.window.open(self.stand_in("node").address)
        self.assertIn("does not tell now which nodes there are", self.window.text("#cluster-note"))
        self.assertFalse(self.window.find("#nodes-table").is_displayed())
        self.window.open(self.stand_in("twelve").address)
        self.assertNotIn("does not tell", self.window.text("#cluster-note"))
        rows = [self.window.text(f"#node-rows tr:nth-child({row})").replace("\u00a0", " ") for row in range(1, 5)]
        for row, words in zip(rows, (("elapse-0.", "tls:elapse-0.", "1.2.3", "5", "11", "right", "lives"), ("elapse-1.", "180 ms behind", "lives"),
                                     ("elapse-2.", "2", "11", "right", "drains"), ("elapse-3.", "silent for 12 min 34 s"))):
            for word in words:
                self.assertIn(word, row)
        cells = self.window.run("return [...document.querySelectorAll('#cluster-rows tr')].map((row) => [5, 6, 2].map((i) => row.children[i].textContent))")
        self.assertEqual(len(cells), 12)
        # The nodes are hosts of one domain, which is said once.
        self.assertEqual(cells[0], ["elapse-1, elapse-2", "none", "elapse-0"])
        self.assertEqual((cells[3][1], cells[11][0]), ("placed there", "none"))
        self.assertEqual((cells[2][1], cells[4][1]), ("to elapse-1, now", "to elapse-2, when it is ready"))

    def test_planned_moves_that_are_paused_are_said(self):
        status = stand_in.statuses()["twelve"]

        def paused(now_ms):
            shown = status(now_ms)
            shown["cluster"]["moves_paused"] = True
            return shown
        self.window.open(self.enterContext(stand_in.StandIn(paused)).address)
        self.assertIn("Planned moves are paused.", self.window.text("#cluster-note"))

    def test_a_clock_that_differs_is_one_finding_for_all_partitions(self):
        said = "this node's wall clock differs from the database's: watch NTP on both"

        def status(now_ms):
            shown = stand_in.statuses()["node"](now_ms)
            for partition in shown["cluster"]["partitions"]:
                partition["clock"] = said
            return shown

        self.window.open(self.enterContext(stand_in.StandIn(status)).address)
        self.window.wait_for_text("#verdict-title", "3 findings")
        self.assertEqual(self.window.text("#findings").count(f"The clock: {said}."), 1)

    def test_names_the_tube_that_waits_or_none(self):
        for oldest_ms, said in ((754_900, "job of tube mails has waited"), (900_000, "A ready job has waited for 15")):
            status = stand_in.statuses()["trouble"]
            shown = self.enterContext(stand_in.StandIn(lambda now_ms, ms=oldest_ms, status=status: {**status(now_ms), "oldest_overdue_ms": ms}))
            self.window.open(shown.address)
            self.assertIn(said, self.window.text("#findings"))

    def test_says_why_a_job_waits_if_no_worker_could_help(self):
        status = stand_in.statuses()["trouble"]

        def changed(now_ms, more):
            now = status(now_ms)
            now["tubes"][1].update(more)
            return now
        for more, said in (({"held": 1_911_207, "held_by": "group_rate"}, "of tube mails has waited for 12 min 34 s, held back by GROUPRATE."),
                           ({"held": 1, "held_by": "rate"}, "of tube mails has waited for 12 min 34 s, and no worker is waiting"),
                           ({"paused_until_ms": 1 << 50}, "of tube mails has waited for 12 min 34 s: the tube is paused.")):
            shown = self.enterContext(stand_in.StandIn(lambda now_ms, more=more: changed(now_ms, more)))
            self.window.open(shown.address)
            self.assertIn(said, self.window.text("#findings").replace("\u00a0", " "))

    def test_says_that_all_is_well(self):
        for name in ("empty", "ten", "millions"):
            with self.subTest(name=name):
                self.window.open(self.stand_in(name).address)
                self.window.wait_for_text("#verdict-title", "All is well")
                self.assertTrue(self.window.driver.title.startswith("✓"))

    def test_of_a_few_jobs_the_latest_is_named(self):
        for many, said, told in ((4, "The job that was latest was handed out 895 ms late.", "4 jobs were handed out, the latest within 895 ms of its time."),
                                 (1, "The job that was latest was handed out 895 ms late.", "1 job was handed out, the latest within 895 ms of its time."),
                                 (100, "One job in a hundred was handed out 895 ms late or more.", "99 of 100 jobs were handed out within 895 ms")):
            status = stand_in.statuses()["ten"]
            late = {"count": many, "p50_ms": 2, "p99_ms": 895, "max_ms": 895}
            shown = self.enterContext(stand_in.StandIn(lambda now_ms, late=late, status=status: {**status(now_ms), "lateness": late}))
            self.window.open(shown.address)
            self.assertIn(said, self.window.text("#findings").replace("\u00a0", " "))
            self.assertIn(told, self.window.text("#answer-time").replace("\u00a0", " "))

    def test_a_thumb_finds_what_it_presses(self):
        shown = self.stand_in("trouble")
        shown.list_page = lambda cursor: ([{"id": number, "state": "buried", "due_ms": 0} for number in (1, 2)], None)
        self.window.open(shown.address)
        self.window.wait_for_text("#hint", "Point at a bar, or use the arrow keys.")
        self.window.size(chromium.PHONE)
        self.window.wait_for_text("#hint", "Tap a bar.")
        self.assertEqual(self.window.run(TOO_SMALL), [])
        self.window.run("location.hash = '#/tubes/mails'")
        self.window.wait_for_text("#list-text", "These are all 2 jobs.")
        self.assertEqual(self.window.run(TOO_SMALL), [])
        self.assertEqual(self.window.run(TOO_WIDE), [])
        self.window.run("document.querySelector('#list-rows').scrollIntoView({block: 'center'})")
        self.window.run("document.elementFromPoint(...(({ left, top }) => [left - 8, top - 8])(document.querySelector('#list-rows input').getBoundingClientRect())).click()")
        self.assertEqual(self.window.run("return [...document.querySelectorAll('#list-rows input')].map((one) => one.checked)"), [True, False])

    def test_numbers_have_separators_and_many_tubes_are_folded(self):
        self.window.open(self.stand_in("millions").address)
        self.assertIn("6,203,117", self.window.text("#tubes"))
        self.assertEqual(self.window.run("return document.querySelectorAll('#tube-rows tr').length"), 12)
        self.click("#more-tubes")
        self.assertEqual(self.window.run("return document.querySelectorAll('#tube-rows tr').length"), 200)
        self.assertIn("200 of 4,312 tubes", self.window.text("#tubes-note"))
        rows = "return [...document.querySelectorAll('#tube-rows th span:first-child')].map((one) => one.textContent)"
        self.fill("#filter", "tenant-004")
        self.window.wait(lambda: self.window.run(rows) == [f"tenant-{number:04}" for number in range(40, 50)], "ten tubes")
        self.fill("#filter", "tenant-400")  # the status leaves them out
        self.window.wait(lambda: self.window.run(rows) == [f"tenant-{number:04}" for number in range(4000, 4010)], "ten more")
        self.fill("#filter", "0042")
        self.window.wait_for_text("#tubes-note", "No tube's name begins so.")

    def test_forecast_has_four_ranges_and_a_text_for_each_bar(self):
        self.window.open(self.stand_in("millions").address)
        for name, bars in (("seconds", 60), ("minutes", 60), ("hours", 48), ("days", 365)):
            with self.subTest(range=name):
                self.click(f"[data-range={name}]")
                chart = self.window.find("#chart")
                self.assertEqual(chart.get_attribute("aria-valuemax"), str(bars - 1))
                self.window.run("document.activeElement.blur()")
                self.window.run("arguments[0].focus({focusVisible: true})", chart)
                from selenium.webdriver.common.keys import Keys
                self.keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
                self.assertEqual(chart.get_attribute("aria-valuenow"), "2")
                self.assertRegex(chart.get_attribute("aria-valuetext"), r": [\d,]+ jobs?$")
                self.assertRegex(self.window.text("#readout"), r": [\d,]+ jobs?$")
                self.click("#forecast-details summary")
                self.window.wait(lambda: self.window.run("return document.querySelectorAll('#forecast-rows tr').length") >= bars - 1, "the table")
                self.click("#forecast-details summary")

    def test_the_last_day_is_that_of_the_server(self):
        shown = self.stand_in("ten")
        for _ in range(2): # a reload of the page loses nothing
            self.window.open(shown.address)
            for text in ("Jobs a minute", "Most put (line): 115, at", "Most ready (line): 780, at", "Most late: 6"):
                self.window.wait_for_text("#day-charts", text)
            self.assertEqual(self.window.text("#day-title"), "The last day")
            self.assertEqual(self.window.run("return document.querySelectorAll('#day-charts path[d]').length"), 5)
        self.click("#day-details summary")
        self.assertIn(self.window.run("return document.querySelectorAll('#day-rows tr').length"), (24, 25))
        self.window.size(chromium.PHONE)
        self.window.wait(lambda: self.window.run("const box = document.querySelector('#day-details .scroll'); return box.scrollWidth <= box.clientWidth"), "a table that fits")
        # Half an hour in which nothing was handed out is a gap in the line of lateness.
        self.assertEqual(self.window.run("return document.querySelector('#day-charts > :nth-child(3) path').getAttribute('d').split('M').length"), 3)

    def test_a_silent_server_is_noticed(self):
        shown = self.stand_in("ten")
        self.window.open(shown.address)
        shown.mode = "silent"
        self.window.wait_for_text("#connection", "Data is")
        self.assertNotIn("All is well", self.window.text("#verdict-title"))
        self.click("[data-range=seconds]")
        self.assertRegex(self.bar(20), r"\d jobs?$")
        self.assertRegex(self.bar(59), "not known$", "seconds that came into sight meanwhile")
        shown.mode = "well"
        self.window.wait_for_text("#connection", "Live")
        self.window.wait_for_text("#verdict-title", "All is well")

    def test_a_list_goes_on_until_it_has_something_to_show(self):
        """One job among a million is buried: each reply looks at some of the jobs, and hundreds of replies have none."""
        shown, held = self.stand_in("millions"), threading.Event()
        def page(cursor):
            if cursor == 40:
                held.wait(serving.PATIENCE_S)
            return ([{"id": 4711, "state": "buried", "due_ms": 0}], 300) if cursor == 250 else ([], cursor + 1)
        shown.list_page = page
        self.window.open(shown.address)
        self.window.wait(lambda: self.window.run(PRESS_LIST), "a tube")
        self.window.wait_for_text("#list-text", "0 jobs shown. Looking for more: some 131,072 of ")
        held.set()
        self.window.wait_for_text("#list-rows", "4711")
        self.assertRegex(self.window.text("#list-text"), r"^1 job shown\. There may be more: some 1,028,096 of [\d,]+ jobs looked at\.$")

    def test_a_list_without_end_stops_and_asks(self):
        shown, asked = self.stand_in("millions"), []
        def page(cursor):
            asked.append(cursor)
            return [], cursor + 1
        shown.list_page = page
        self.window.open(shown.address)
        self.window.wait(lambda: self.window.run(PRESS_LIST), "a tube")
        self.window.wait_for_text("#list-text", "0 jobs shown. There may be more: some 4,096,000 of ")
        self.assertEqual(len(asked), 1000)
        self.click("#list-more")
        self.window.wait(lambda: len(asked) == 2000, "a thousand more")

    def test_a_list_that_is_closed_stops(self):
        shown, asked, held = self.stand_in("millions"), [], threading.Event()
        def page(cursor):
            asked.append(cursor)
            if cursor == 5:
                held.wait(serving.PATIENCE_S)
            return [], cursor + 1
        shown.list_page = page
        self.window.open(shown.address)
        self.window.wait(lambda: self.window.run(PRESS_LIST), "a tube")
        self.window.wait(lambda: 5 in asked, "the sixth question")
        self.window.run("location.hash = '#/'")
        held.set()
        self.window.wait(lambda: not self.window.run("return document.querySelector('#tube').checkVisibility()"), "the list closes")
        time.sleep(0.2)
        self.assertLessEqual(len(asked), 6)

    def bar(self, index):
        """The text of a bar of the forecast."""
        return self.window.run("pick(arguments[0]); return document.querySelector('#readout').textContent", index)

    def test_motion_is_reduced_where_people_ask_for_it(self):
        shown = self.stand_in("ten")
        script = self.window.command("Page.addScriptToEvaluateOnNewDocument", source="""
            window.frames = 0;
            const request = window.requestAnimationFrame.bind(window);
            window.requestAnimationFrame = (action) => { window.frames++; return request(action); };""")
        try:
            counts = {}
            for motion in ("reduce", "no-preference"):
                self.window.theme("light", motion)
                self.window.open(shown.address)
                self.window.run("document.querySelector('#wheel').scrollIntoView()")
                before = self.window.run("return window.frames")
                time.sleep(1)
                if motion == "no-preference":  # a machine that stands still draws no pictures
                    self.window.wait(lambda: self.window.run("return window.frames") > before + 5, "pictures of the wheel")
                counts[motion] = self.window.run("return window.frames") - before
        finally:
            self.window.command("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
        self.assertEqual(counts["reduce"], 0)
        self.assertGreater(counts["no-preference"], 5)


class Keyboard(PageTest):
    def test_everything_is_reached_and_the_focus_is_seen(self):
        from selenium.webdriver.common.keys import Keys
        self.window.open(self.enterContext(stand_in.StandIn(stand_in.statuses()["ten"])).address)
        self.keys(Keys.TAB)
        self.assertEqual(self.window.run("return document.activeElement.className"), "skip")
        self.keys(Keys.ENTER)
        self.assertEqual(self.focused(), "main")
        self.window.open(self.window.driver.current_url.split("#")[0])
        wanted = set(self.window.run("""return [...document.querySelectorAll("a, button, input, select, summary, [tabindex='0']")]
            .filter((element) => element.checkVisibility() && !element.disabled).map((element) => element.outerHTML.slice(0, 60))"""))
        reached = set()
        for _ in range(len(wanted) + 10):
            self.keys(Keys.TAB)
            reached.add(self.window.run("return document.activeElement.outerHTML.slice(0, 60)"))
            outline = self.window.run("""const style = getComputedStyle(document.activeElement);
                return document.activeElement === document.body || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2)""")
            self.assertTrue(outline, f"no visible focus: {self.focused()}")
            if wanted <= reached:
                break
        self.assertEqual(wanted - reached, set())

    def test_a_dialog_keeps_the_focus_and_gives_it_back(self):
        from selenium.webdriver.common.keys import Keys
        self.window.open(self.enterContext(stand_in.StandIn(stand_in.statuses()["ten"])).address)
        self.window.find("#open-put").send_keys(Keys.ENTER)
        for _ in range(16):
            self.assertTrue(self.window.run("return document.activeElement === document.body || document.activeElement.closest('#put-dialog') !== null"))
            self.keys(Keys.TAB)
        self.keys(Keys.ESCAPE)
        self.assertFalse(self.window.run("return document.querySelector('dialog[open]') !== null"))
        self.assertEqual(self.focused(), "open-put")


class Live(PageTest):
    """With the server itself."""

    def start(self, *options):
        running = self.enterContext(server(*options))
        client = self.enterContext(serving.Connection(running.port))
        return running, client

    def tube(self, name):
        return self.window.run("""const row = [...document.querySelectorAll('#tube-rows tr')].find((row) => row.querySelector('th span').textContent === arguments[0]);
            return row ? Object.fromEntries([...row.querySelectorAll('[data-label]')].map((cell) => [cell.dataset.label, cell.textContent])) : null""", name)

    def press_of_tube(self, name, text):
        self.window.run("""[...document.querySelectorAll('#tube-rows tr')].find((row) => row.querySelector('th span').textContent === arguments[0])
            .querySelector(`button[aria-label^="${arguments[1]}"]`).click()""", name, text)

    def press(self, text):
        """Presses the button with this text in the open dialog, or else in the page. What the page said before is taken
        away, because it may begin like what the page says now."""
        self.window.run("""document.querySelector('#said').textContent = '';
            const root = document.querySelector('dialog[open]') ?? document.body;
            [...root.querySelectorAll('button')].find((button) => button.textContent === arguments[0] && button.checkVisibility()).click()""", text)

    def go(self, address):
        """Shows what stands at an address behind #/."""
        self.window.run("location.hash = `#/${arguments[0]}`", address)
        self.window.wait(lambda: self.window.run("return view === (arguments[0].split('/')[1] ? arguments[0].split('/')[0] : '')", address), address)

    def find_job(self, number):
        self.fill("#find-text", str(number))
        self.click("#find button")
        self.window.wait_for_text("#job-found", f"Job {number}")

    def state(self):
        return self.window.text("#job-found [aria-current]").split("\n")[0]

    def test_loads_and_asks_nobody_else(self):
        running, _ = self.start()
        self.window.open(running.address)
        self.window.wait_for_text("#verdict-title", "All is well")
        self.assertIn("There are no tubes", self.window.text("#tubes"))
        asked = self.window.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        self.assertEqual([name for name in asked if not name.startswith(running.address)], [])

    def test_shows_a_put_at_once(self):
        running, client = self.start()
        self.window.open(running.address)
        client.ask("PUT", "mails", "hello", "IN", "30m")
        self.window.wait(lambda: (self.tube("mails") or {}).get("Delayed") == "1", "the delayed job")
        self.window.wait_for_text("#forecast-summary", "1 job in 60 minutes")
        self.window.wait_for_text("#answer-next", "1 job in that minute")
        client.ask("PUT", "mails", "now")
        self.window.wait(lambda: self.tube("mails")["Ready"] == "1", "the ready job")

    def test_tubes_whose_names_are_no_text_have_rows_of_their_own(self):
        running, client = self.start()
        for name in (b"\xff", b"\xfe", "base64: /w=="):
            client.ask("PUT", name, "hello")
        self.window.open(running.address)
        rows = "return [...document.querySelectorAll('#tube-rows tr')].map((row) => [row.querySelector('th span').textContent, row.querySelectorAll('button').length])"
        self.window.wait(lambda: sorted(self.window.run(rows)) == [["base64: /g==", 3], ["base64: /w==", 3], ["base64: /w==", 3]], "three rows")
        self.window.run("""[...document.querySelectorAll('#tube-rows tr')].find((row) => row.querySelector('th span').textContent === 'base64: /g==')
            .querySelector('button[aria-label^="Pause"]').click()""")
        self.press("Pause")
        self.said("paused for 10m")
        client.ask("HELLO", "3")
        self.assertGreater(client.ask("STATS", b"\xfe")["pause_left"], 500_000)
        self.window.run("location.hash = '#/tubes/%fe'")
        self.window.wait_for_text("#list-text", "This is the only job.")
        self.assertIn("base64: /g==", self.window.text("#list-title"))
        self.window.run("location.hash = '#/'")
        self.assertEqual(self.window.run("return document.getElementById('tube-names').children.length"), 1)

    def test_tubes_in_trouble_are_shown_and_named_among_many(self):
        running, client = self.start()
        for number in range(201):
            # Ready jobs that nobody takes would be trouble after ten seconds.
            client.send("PUT", f"tube-{number:03}", "hello", *(() if number % 100 == 0 else ("IN", "1h")))
        for _ in range(201):
            client.receive()
        for number in (0, 100, 200):
            [[job, lease, *_]] = client.ask("RESERVE", f"tube-{number:03}")
            client.ask("BURY", job, lease)
        self.window.open(running.address)
        self.window.wait_for_text("#tubes-note", "200 of 201 tubes, the 3 in trouble first")
        self.window.wait_for_text("#findings", "3 jobs buried")
        names = "return [...document.querySelectorAll('#tube-rows th span:first-child')].slice(0, 3).map((one) => one.textContent)"
        self.assertEqual(self.window.run(names), ["tube-000", "tube-100", "tube-200"])
        self.assertLess(self.window.run("return document.querySelector('#tube-rows tr').getBoundingClientRect().top"), 700)
        self.assertEqual(self.window.run("return [...document.querySelectorAll('#findings a')].map((one) => one.textContent).sort()"), ["tube-000", "tube-100", "tube-200"])
        self.window.find("#findings a").click()
        self.window.wait_for_text("#list-text", "This is the only buried job.")

    def test_puts_a_job_by_keyboard_alone(self):
        from selenium.webdriver.common.keys import Keys
        running, client = self.start()
        self.window.open(running.address)
        self.window.find("#open-put").send_keys(Keys.ENTER)
        self.keys("orders", Keys.TAB, "4711", Keys.TAB, "pay\nnow", Keys.TAB, Keys.TAB, "1h", Keys.ENTER)
        self.said("was put.")
        self.window.wait_for_text("#job-found", "pay\nnow")
        self.assertEqual(self.state(), "Delayed")
        client.ask("HELLO", "3")
        job = client.ask("LOOKUP", "orders", "4711")
        self.assertEqual((job["body"], job["state"]), ("pay\nnow", "delayed"))
        self.assertTrue(3_000_000 < job["left"] <= 3_600_000, job)

    def test_says_why_a_put_was_refused(self):
        running, _ = self.start()
        self.window.open(running.address)
        self.allowed = [re.compile(r"/api/v1/put - Failed to load resource: the server responded with a status of 400")]
        self.click("#open-put")
        self.fill("[name=tube]", "orders")
        self.fill("[name=in]", "30")
        self.press("Put the job")
        self.window.wait_for_text("#put-dialog .problem", "unit")

    def test_finds_a_job_and_follows_its_life(self):
        running, client = self.start()
        number, _ = client.ask("PUT", "mails", "hello", "KEY", "a@b.c", "TAG", "welcome")
        self.window.open(running.address)
        self.find_job(number)
        for text in ("mails", "a@b.c", "hello"):
            self.assertIn(text, self.window.text("#job-found"))
        self.assertEqual(self.state(), "Ready")
        [[_, lease, *_]] = client.ask("RESERVE", "mails")
        self.window.wait(lambda: self.state() == "Reserved", "the state Reserved")
        client.ask("BURY", number, lease)
        self.window.wait(lambda: self.state() == "Buried", "the state Buried")
        self.press("Kick this job")
        self.window.wait(lambda: self.state() == "Ready", "the state Ready")
        [[_, lease, *_]] = client.ask("RESERVE", "mails")
        self.allowed = [re.compile(r"/api/v1/jobs/\d+ - Failed to load resource: the server responded with a status of 404")]
        client.ask("ACK", number, lease)
        self.window.wait(lambda: self.state() == "Gone", "the state Gone")

    def test_a_text_of_a_job_can_be_selected_in_peace(self):
        running, client = self.start()
        number, _ = client.ask("PUT", "mails", "hello")
        self.window.open(running.address)
        self.find_job(number)
        self.window.run("getSelection().selectAllChildren(document.querySelector('#job-found pre'))")
        client.ask("RESERVE", "mails")
        answers = "return performance.getEntriesByType('resource').filter((entry) => entry.name.includes('/jobs/')).length"
        before = self.window.run(answers)
        self.window.wait(lambda: self.window.run(answers) >= before + 2, "two looks at the job")
        self.assertEqual(self.window.run("return getSelection().toString()"), "hello")
        self.window.run("getSelection().removeAllRanges()")
        self.window.wait(lambda: self.state() == "Reserved", "the state Reserved")

    def test_finds_a_job_by_its_key_or_says_that_there_is_none(self):
        running, client = self.start()
        number, _ = client.ask("PUT", "a/b&c ü", "hello", "KEY", "k?=%", "IN", "1h")
        self.window.open(running.address)
        self.fill("#find-text", "k?=%")
        self.click("#find button")
        self.window.wait_for_text("#job-found", f"Job {number}")
        self.allowed = [re.compile(r"/api/v1/jobs/\d+ - Failed to load resource: the server responded with a status of 404")]
        self.fill("#find-text", "999")
        self.click("#find button")
        self.window.wait_for_text("#found-text", "no such job")
        # An address of a job that has ended: the text has room at its left, and no empty card stands below it.
        self.go("jobs/999")
        self.window.wait_for_text("#find-problem", "There is no such job.")
        self.assertFalse(self.window.find("#job").is_displayed())
        self.assertEqual(self.window.run(LEFT_OF_TEXT, "#find-problem"), self.window.run(LEFT_OF_TEXT, "h1"))
        self.fill("#find-text", "a/b")
        self.click("#find button")
        self.window.wait_for_text("#list-title", "a/b&c ü")

    def hold_answers(self, part):
        """From now on the page gets answers about paths with this part when `let_answers_go` was called."""
        self.window.run("""const ask = window.fetch, gate = new Promise((open) => { window.letAnswersGo = open; });
            window.fetch = async (path, options) => {
                const answer = await ask(path, options);
                if (path.includes(arguments[0])) { await gate; setTimeout(() => { window.answersWent = true; }, 200); }
                return answer;
            };""", part)

    def let_answers_go(self):
        self.window.run("window.letAnswersGo()")
        self.window.wait(lambda: self.window.run("return window.answersWent"), "the late answer")

    def test_an_answer_that_comes_late_is_not_shown(self):
        running, client = self.start()
        first, _ = client.ask("PUT", "mails", "hello", "IN", "1h")
        second, _ = client.ask("PUT", "orders", "hello", "IN", "1h")
        self.window.open(running.address)
        self.hold_answers(f"jobs/{first}")
        self.fill("#find-text", str(first))
        self.click("#find button")
        self.window.wait(lambda: "/find/" in self.window.driver.current_url, "the address of a search")
        self.find_job(second)
        self.let_answers_go()
        self.assertIn(f"Job {second}", self.window.text("#job-found"))

    def test_a_list_that_comes_late_is_not_shown(self):
        running, client = self.start()
        client.ask("PUT", "mails", "hello", "IN", "1h")
        number, _ = client.ask("PUT", "orders", "hello", "IN", "1h")
        self.window.open(running.address)
        self.window.wait(lambda: self.tube("mails") and self.tube("orders"), "the tubes")
        self.hold_answers("tubes/mails/")
        self.press_of_tube("mails", "Jobs")
        self.go("")
        self.press_of_tube("orders", "Jobs")
        self.window.wait_for_text("#list-rows", str(number))
        self.let_answers_go()
        self.assertEqual(self.window.run("return [...document.querySelectorAll('#list-rows .id')].map((one) => one.textContent)"), [str(number)])

    def test_a_job_shows_what_went_wrong_its_headers_and_its_body_in_three_forms(self):
        running, client = self.start()
        number, _ = client.ask("PUT", "mails", '{"to":"ann"}', "HEADERS", '{"trace":"00-4b"}', "BACKOFF", "1h", "1h")
        [[_, lease, *_]] = client.ask("RESERVE", "mails")
        client.ask("NACK", number, lease, "ERROR", "no route to host")
        self.window.open(f"{running.address}#/jobs/{number}")
        for text in ("no route to host", "Next try", "Tries that failed", "1; at 20", '"trace": "00-4b"', '{"to":"ann"}'):
            self.window.wait_for_text("#job-found", text)
        self.press("JSON")
        self.assertIn('  "to": "ann"', self.window.text("#job-found pre:last-of-type"))
        self.press("hex")
        self.assertIn("7b 22 74 6f", self.window.text("#job-found pre:last-of-type"))
        self.press("Move it to a time")
        self.fill("#sure-label input", "2026-12-24")
        self.press("Move")
        self.window.wait_for_text("#sure-dialog .problem", "Enter a time behind the date")
        self.fill("#sure-label input", "3h")
        self.press("Move")
        self.said("1 job moved.")
        self.press("Run it now")
        self.said("is ready")
        self.window.wait(lambda: self.state() == "Ready", "the state Ready")

    def test_a_kick_that_comes_too_late_is_said(self):
        running, client = self.start()
        number, _ = client.ask("PUT", "mails", "hello")
        client.ask("RESERVE", "mails")
        self.window.open(f"{running.address}#/jobs/{number}")
        self.window.wait_for_text("#job-found", "hello")
        # The button is not there any more. A page that has not heard of it yet still has it.
        for id, text in ((number, "a worker has it"), ("999", "it had ended before")):
            self.window.run("kickJob({ id: arguments[0] })", str(id))
            self.said(f"Job {id} was not kicked: {text}.")

    def test_back_and_forward(self):
        running, client = self.start()
        number, _ = client.ask("PUT", "mails", "hello", "IN", "1h")
        self.window.open(running.address)
        self.go("tubes/mails?state=delayed")
        self.window.wait_for_text("#list-text", "This is the only delayed job.")
        self.click("#list-rows a")
        self.window.wait_for_text("#job-found", f"Job {number}")
        self.assertFalse(self.window.find("#tubes").is_displayed())
        self.window.driver.back()
        self.window.wait_for_text("#list-rows", str(number))
        self.assertEqual(self.window.run("return document.querySelector('#list-state').value"), "delayed")
        self.window.driver.back()
        self.window.wait(lambda: self.window.find("#tubes").is_displayed(), "the tubes")
        self.window.driver.forward()
        self.window.wait_for_text("#list-rows", str(number))

    def test_lists_have_columns_and_an_order(self):
        running, client = self.start()
        for number, wait in enumerate(("3h", "1h", "2h"), 1):
            client.ask("PUT", "mails", "x" * 100, "KEY", f"key-{number}", "TAG", "spring", "GROUP", "ann", "IN", wait)
        self.window.open(f"{running.address}#/tubes/mails?state=delayed")
        self.window.wait_for_text("#list-text", "These are all 3 delayed jobs. The job due first comes first.")
        self.assertEqual(self.window.run("return [...document.querySelectorAll('#list-rows .id')].map((one) => one.textContent)"), ["2", "3", "1"])
        for text in ("key-2", "spring", "ann", "x" * 80 + "…"):
            self.assertIn(text, self.window.text("#list-rows tr:first-child"))
        self.go("tubes/mails?tag=spring")
        self.window.wait_for_text("#list-text", "These are all 3 jobs with this tag.")
        self.go("tubes/mails?tag=summer")
        self.window.wait_for_text("#list-text", "There is no job with this tag.")

    def test_marked_jobs_and_all_of_a_state(self):
        running, client = self.start()
        for body in ("one", "two", "three", "four", "five"):
            client.ask("PUT", "mails", body)
        for number, lease, *_ in client.ask("RESERVE", "mails", "COUNT", "5"):
            client.ask("BURY", number, lease)
        self.window.open(f"{running.address}#/tubes/mails?state=buried")
        self.window.wait_for_text("#list-text", "These are all 5 buried jobs. The job buried last comes first.")
        for number in (1, 2):
            self.click(f"[aria-label='Mark job {number}']")
        self.press("Run 2 marked now")
        self.press("Run them now")
        self.said("2 jobs ready.")
        self.window.wait_for_text("#list-text", "These are all 3 buried jobs.")
        self.click("[aria-label='Mark job 3']")
        self.press("Move 1 marked")
        self.fill("#sure-label input", "2h")
        self.press("Move")
        self.said("1 job moved.")
        self.window.wait_for_text("#list-text", "These are all 2 buried jobs.")
        self.click("[aria-label='Mark job 4']")
        self.press("Cancel 1 marked")
        self.press("Cancel them")
        self.said("1 job cancelled.")
        client.ask("HELLO", "3")
        self.assertEqual(client.ask("STATS", "mails")["buried"], 1)
        self.window.wait(lambda: "Cancel all 1 buried" in self.window.text("#list-actions"), "the number of buried jobs")
        self.press("Cancel all 1 buried")
        self.fill("#sure-label input", "2")
        self.press("Cancel them")
        self.window.wait_for_text("#sure-dialog .problem", "Type 1")
        self.fill("#sure-label input", "1")
        self.press("Cancel them")
        self.said("1 job of mails cancelled.")
        self.assertEqual(client.ask("STATS", "mails")["buried"], 0)
        self.window.wait_for_text("#list-text", "There is no buried job.")

    def test_names_can_be_told_apart(self):
        running, client = self.start()
        names = {"a": "a", "a ": "a␣", " a": "␣a", "a\u202e": "a\\u{202e}", "a\0": "a\\u{0}", "a\\u{0}": "a\\u{5c}u{0}", "a\u2423": "a\\u{2423}"}
        for name in names:
            client.ask("PUT", name, "hello")
        self.window.open(running.address)
        rows = "return [...document.querySelectorAll('#tube-rows th span:first-child')].map((one) => one.textContent)"
        self.window.wait(lambda: sorted(self.window.run(rows)) == sorted(names.values()), "each name")
        self.press_of_tube("a\\u{202e}", "Jobs")
        self.window.wait_for_text("#list-text", "This is the only job.")

    def test_shows_who_works(self):
        running, client = self.start()
        for _ in range(3):
            client.ask("PUT", "mails", "hello")
        client.ask("CLIENT", "SETNAME", "worker-7")
        client.ask("RESERVE", "mails", "COUNT", "2")
        client.ask("RESERVE", "mails", "HOLDER", "proxy")
        self.window.open(running.address)
        self.window.run("[...document.querySelectorAll('a')].find((one) => one.textContent === 'Who works').click()")
        self.window.wait_for_text("#workers-text", "2 workers have 3 jobs")
        for text in ("worker-7", "127.0.0.1:", "mails", "2 jobs"):
            self.assertIn(text, self.window.text("#worker-rows tr:first-child"))
        self.assertIn("no connection", self.window.text("#worker-rows tr:last-child"))

    def test_a_node_of_a_cluster_does_not_say_that_nobody_works(self):
        running, _ = self.start()
        self.window.open(running.address)
        self.window.run("""const ask = window.fetch;
            window.fetch = (path, options) => path !== "/api/v1/clients" ? ask(path, options)
                : Promise.resolve(new Response(JSON.stringify({ clients: [{ id: "7", address: "127.0.0.1:5000", name: "worker-7" }] })));""")
        self.window.run("location.hash = '#/workers'")
        self.window.wait_for_text("#workers-text", "The owners of the partitions know who has jobs. One connection is open.")
        self.assertNotIn("Nobody has a job", self.window.text("#workers-text"))

    def test_shows_what_recurs(self):
        running, client = self.start()
        client.ask("PUT", "mails", "once", "IN", "1h")
        late, _ = client.ask("PUT", "reports", "daily", "EVERY", "24h", "KEY", "daily-report")
        client.ask("PUT", "cron", "newyear", "CRON", "0 9 1 1 *", "ZONE", "Europe/Berlin", "KEY", "yearly")
        soon, _ = client.ask("PUT", "mails", "often", "EVERY", "1h")
        self.window.open(running.address)
        self.window.wait(lambda: self.tube("mails"), "the tubes")
        self.window.find('#tubes a[href="#/recurring"]').click()
        self.window.wait_for_text("#recurring-text", "3 jobs, the one that runs next first.")
        self.assertEqual(self.window.run("return [...document.querySelectorAll('#recurring-rows .id')].map((one) => one.textContent)")[:2], [str(soon), str(late)])
        for text in ("reports", "daily-report", "delayed", "every 1 d", "(in 23 h 59 min", "daily"):
            self.assertIn(text, self.window.text("#recurring-rows tr:nth-child(2)").replace("\u00a0", " "))
        self.assertIn("0 9 1 1 *, in Europe/Berlin", self.window.text("#recurring-rows tr:last-child"))
        self.window.find("#recurring-rows tr:last-child a.id").click()
        self.window.wait_for_text("#job-found", "0 9 1 1 *, in Europe/Berlin")
        self.go("tubes/mails")
        self.window.find("#tube-recurring").click()
        self.window.wait_for_text("#recurring-text", "1 job, the one that runs next first.")
        self.assertIn("What recurs in tube mails", self.window.text("#recurring-title"))
        self.go("recurring/nothing")
        self.window.wait_for_text("#recurring-text", "No job recurs")

    def test_shows_what_limits_hold_back(self):
        running, client = self.start()
        client.ask("LIMIT", "mails", "GROUPRATE", "1", "PER", "1h")
        for group, many in (("ann", 4), ("bob", 2), ("b\u202edr", 3), (b"\xff", 2), ("free", 1)):
            for _ in range(many):
                client.ask("PUT", "mails", "hello", "GROUP", group)
        client.ask("PUT", "mails", "hello")
        client.ask("RESERVE", "mails", "COUNT", "5")
        self.window.open(running.address)
        self.window.wait(lambda: "7 held back by GROUPRATE" in self.window.text("#tube-rows tr"), "the note of the tube")
        self.go("tubes/mails")
        self.window.wait_for_text("#held-text", "4 groups are held back.")
        self.assertIn("7 held back by GROUPRATE", self.window.text("#held-text"))
        rows = self.window.run("return [...document.querySelectorAll('#held-rows tr')].map((row) => [...row.cells].map((cell) => cell.textContent.replaceAll('\u00a0', ' ')))")
        self.assertEqual([row[0:4] for row in rows[0:2]], [["ann", "3 jobs", "GROUPRATE", "1"], ["b\\u{202e}dr", "2 jobs", "GROUPRATE", "1"]])
        self.assertEqual({row[0] for row in rows[2:]}, {"bob", "base64: /w=="})
        self.assertRegex(rows[0][5], "in (1 h|59 min)")
        # One after another: nobody knows when the one that runs ends.
        client.ask("LIMIT", "mails", "GROUPORDER")
        self.window.wait_for_text("#held-rows", "GROUPORDER")
        self.assertIn("when one ends", self.window.text("#held-rows"))
        self.window.find("#held-rows a").click()
        self.window.wait_for_text("#list-text", "These are all 5 reserved jobs.")
        # A limit of the whole tube holds no group.
        client.ask("LIMIT", "mails", "CONCURRENCY", "1")
        self.window.wait_for_text("#held-text", "held back by CONCURRENCY")
        self.window.wait(lambda: not self.window.find("#held-table").is_displayed(), "no groups")
        client.ask("LIMIT", "mails", "NONE")
        self.window.wait(lambda: not self.window.find("#held").is_displayed(), "nothing is held back")

    def test_limits_a_tube(self):
        running, client = self.start()
        client.ask("PUT", "mails", "hello")
        self.window.open(f"{running.address}#/tubes/mails")
        self.window.wait_for_text("#list-text", "This is the only job.")
        client.ask("HELLO", "3")
        for value, shown in (("2", 2), ("", None)):
            self.ask_limit()
            self.fill("#limit-dialog input[name=concurrency]", value)
            self.press("Set the limits")
            self.said("no limit" if value == "" else "2 jobs run at a time")
            self.assertEqual(client.ask("LIMIT", "mails")["concurrency"], shown)

    def ask_limit(self):
        """Opens the question for the limits, and returns what its fields show."""
        self.window.wait(lambda: not self.window.run("return document.querySelector('#limit-dialog').open"), "no question")
        self.press("Limit")
        self.window.wait(lambda: self.window.run("return document.querySelector('#limit-dialog').open"), "the question")
        self.assertEqual(self.window.run(NAMELESS), [])
        return self.window.run("return Object.fromEntries([...document.querySelectorAll('#limit-dialog input')].filter((one) => one.type !== 'checkbox').map((one) => [one.name, one.value]))")

    def test_a_new_limit_keeps_the_others(self):
        running, client = self.start()
        client.ask("HELLO", "3")
        client.ask("PUT", "mails", "hello")
        buried = ("BURIED", "9", "BURIED", "AGE", "7d")
        client.ask("LIMIT", "mails", "GROUPCONCURRENCY", "3", "RATE", "5", "PER", "90s", "BURST", "4",
                   "GROUPRATE", "6", "PER", "80s", "BURST", "5", *buried)
        has = {"concurrency": None, "group_concurrency": 3, "rate": 5, "rate_per": 90000, "rate_burst": 4,
               "group_rate": 6, "group_rate_per": 80000, "group_rate_burst": 5, "group_order": None,
               "buried": 9, "buried_age": 7 * 86_400_000}
        self.assertEqual(client.ask("LIMIT", "mails"), has)
        self.window.open(f"{running.address}#/tubes/mails")
        self.window.wait_for_text("#list-text", "This is the only job.")
        self.assertEqual(self.ask_limit(), {"concurrency": "", "group_concurrency": "3", "rate": "5", "rate_per": "1m30s", "rate_burst": "4",
                                            "group_rate": "6", "group_rate_per": "1m20s", "group_rate_burst": "5"})
        for name, value, said, change in (
                ("concurrency", "2", "2 jobs run at a time", {"concurrency": 2}),
                ("rate_per", "2h", "5 jobs begin in 2h", {"rate_per": 7_200_000}),
                ("rate_burst", "7", "5 jobs begin", {"rate_burst": 7}),
                ("group_concurrency", "", "2 jobs run at a time; 5 jobs begin", {"group_concurrency": None}),
                ("group_rate_per", "3h", "6 jobs of each group begin in 3h", {"group_rate_per": 10_800_000}),
                ("rate", "", "at most 2 jobs run at a time; 6 jobs of each", {"rate": None, "rate_per": None, "rate_burst": None}),
                ("group_rate", "", "at most 2 jobs run at a time.",
                 {"group_rate": None, "group_rate_per": None, "group_rate_burst": None})):
            with self.subTest(name):
                self.fill(f"#limit-dialog input[name={name}]", value)
                # What somebody else sets while the question is open stays, too.
                if name == "rate_burst":
                    client.ask("LIMIT", "mails", "CONCURRENCY", "2", "GROUPCONCURRENCY", "9", "RATE", "5", "PER", "2h", "BURST", "4",
                               "GROUPRATE", "6", "PER", "80s", "BURST", "5", *buried)
                    has["group_concurrency"] = 9
                self.press("Set the limits")
                self.said(said)
                has |= change
                self.assertEqual(client.ask("LIMIT", "mails"), has)
                self.ask_limit()
        for order in (True, None):
            self.window.run("document.querySelector('#limit-dialog input[name=group_order]').click()")
            self.press("Set the limits")
            self.said("in its order" if order else "2 jobs run at a time.")
            has["group_order"] = order
            self.assertEqual(client.ask("LIMIT", "mails"), has)
            self.ask_limit()
        for name, value, problem in (("concurrency", "0", "above 0"), ("rate_burst", "2", "how many jobs"), ("rate", "1", "such as 1m"),
                                     ("group_rate_burst", "2", "how many jobs"), ("group_rate", "1", "such as 1m")):
            with self.subTest(name):
                self.fill(f"#limit-dialog input[name={name}]", value)
                self.press("Set the limits")
                self.window.wait_for_text("#limit-dialog .problem", problem)
                self.assertEqual(client.ask("LIMIT", "mails"), has)
                self.press("Close")
                self.ask_limit()

    def test_sends_back_a_limit_that_the_page_does_not_know(self):
        running, client = self.start()
        client.ask("PUT", "mails", "hello")
        self.window.open(f"{running.address}#/tubes/mails")
        self.window.wait_for_text("#list-text", "This is the only job.")
        self.window.run("""const fetched = window.fetch;
            window.fetch = async (path, options) => {
                if (options.method === "POST") window.sent = JSON.parse(options.body);
                return path === "/api/v1/tubes/mails/limit" ? Response.json({ concurrency: 3, rate: null, buried: 7, buried_age: 604800000, other: "x" })
                    : path === "/api/v1/limit" ? Response.json({ result: "ok" }) : fetched(path, options);
            };""")
        self.ask_limit()
        self.assertIn("buried, buried_age, other", self.window.text("#limit-others"))
        self.fill("#limit-dialog input[name=concurrency]", "4")
        self.press("Set the limits")
        self.said("4 jobs run at a time")
        self.assertEqual(self.window.run("return window.sent"), {"tube": "mails", "concurrency": 4, "buried": 7, "buried_age": "7d", "other": "x"})

    def test_asks_before_it_cancels(self):
        from selenium.webdriver.common.keys import Keys
        running, client = self.start()
        number, _ = client.ask("PUT", "mails", "hello", "IN", "1h")
        self.window.open(running.address)
        self.find_job(number)
        self.press("Cancel this job")
        self.assertIn(f"Cancel job {number}?", self.window.text("#sure-dialog"))
        self.assertEqual(self.window.run("return document.activeElement.textContent"), "Keep the job")
        self.keys(Keys.ENTER)
        self.assertIsNotNone(client.ask("LOOKUPID", number), "it was kept")
        self.press("Cancel this job")
        self.keys(Keys.ESCAPE)
        self.assertIsNotNone(client.ask("LOOKUPID", number), "it was kept")
        self.allowed = [re.compile(r"/api/v1/jobs/\d+ - Failed to load resource: the server responded with a status of 404")]
        self.press("Cancel this job")
        self.press("Cancel the job")
        self.said("was cancelled")
        self.assertIsNone(client.ask("LOOKUPID", number))
        self.window.wait(lambda: self.state() == "Gone", "the state Gone")

    def test_kicks_pauses_and_resumes_a_tube(self):
        running, client = self.start()
        client.ask("HELLO", "3")
        for body in ("one", "two", "three"):
            client.ask("PUT", "mails", body)
        for number, lease, *_ in client.ask("RESERVE", "mails", "COUNT", "3"):
            client.ask("BURY", number, lease)
        self.window.open(running.address)
        self.window.wait_for_text("#findings", "3 jobs buried")
        self.press_of_tube("mails", "Jobs")
        self.window.wait_for_text("#list-text", "These are all 3 buried jobs.")
        self.go("")
        self.press_of_tube("mails", "Kick")
        self.fill("#sure-label input", "2")
        self.press("Kick")
        self.said("mails")
        self.window.wait(lambda: (self.tube("mails")["Ready"], self.tube("mails")["Buried"]) == ("2", "1"), "two kicked jobs")
        # Somebody else kicks the last one while the question is open. No delayed job is kicked in its place.
        later, _ = client.ask("PUT", "mails", "later", "IN", "1h")
        self.press_of_tube("mails", "Kick")
        self.assertEqual(client.ask("KICK", "mails", "10"), 1)
        self.press("Kick")
        self.said("0 jobs of mails kicked.")
        self.assertEqual(client.ask("LOOKUPID", later)["state"], "delayed")
        self.press_of_tube("mails", "Pause")
        self.press("Pause")
        self.said("paused for 10m")
        self.assertGreater(client.ask("STATS", "mails")["pause_left"], 500_000)
        self.window.wait_for_text("#tube-rows", "paused, 9")
        self.press_of_tube("mails", "Resume")
        self.said("hands out jobs again")
        self.assertEqual(client.ask("STATS", "mails")["pause_left"], 0)

    def test_a_lost_server_comes_back_by_itself(self):
        self.allowed = [EXPECTED_OFFLINE]
        with tempfile.TemporaryDirectory() as directory:
            (port, holder), (http_port, http_holder) = hold_port(), hold_port()
            self.addCleanup(holder.close)
            self.addCleanup(http_holder.close)
            first = Server(directory, port=port, http_port=http_port)
            with serving.Connection(first.port) as client:
                client.ask("PUT", "mails", "hello", "IN", "30m")
            self.window.open(first.address)
            self.window.wait(lambda: self.tube("mails"), "the tube")
            first.end(signal.SIGKILL)
            self.window.wait_for_text("#lost", "Connection lost")
            self.window.wait_for_text("#lost", "What you see is 3")
            self.assertIn("Lost: data is", self.window.text("#connection"))
            self.assertIn("Not known", self.window.text("#verdict-title"))
            self.assertIn("1 job in 60 minutes", self.window.text("#forecast-summary"), "the forecast stays")
            for theme in ("light", "dark"):
                self.window.theme(theme, "reduce")
                self.assertEqual(self.window.run(LOW_CONTRAST)["low"], [])
            second = Server(directory, port=first.port, http_port=first.http_port)
            try:
                self.window.wait_for_text("#connection", "Live")
                self.assertFalse(self.window.run("return document.querySelector('#lost').checkVisibility()"))
                self.assertEqual(self.tube("mails")["Delayed"], "1")
            finally:
                second.end()

    def test_offers_what_the_user_may_do(self):
        def line(name, rights, tubes=""):
            return f"{name} #{hashlib.sha256(name.encode()).hexdigest()} {rights} {tubes}\n"

        directory = self.enterContext(tempfile.TemporaryDirectory())
        users = pathlib.Path(directory, "users")
        users.write_text(line("looks", "look") + line("all", "put,work,look,admin"), encoding="utf-8")
        users.chmod(0o600)
        running, client = self.start("--users", str(users))
        client.ask("AUTH", "all", "all")
        number, _ = client.ask("PUT", "mails", "hello")
        [[_, lease, *_]] = client.ask("RESERVE", "mails")
        client.ask("BURY", number, lease)

        self.allowed = [UNAUTHORIZED, FORBIDDEN]

        def offered():
            return self.window.run("return [...document.querySelectorAll('button, a, input')].filter((one) => one.checkVisibility()).map((one) => one.textContent || one.id)")

        self.window.driver.get(running.address)
        self.window.wait(lambda: self.window.find("#password").is_displayed(), "the question")
        self.fill("#password", "looks:looks")
        self.click("#password-dialog button")
        self.window.wait(lambda: self.tube("mails"), "the tube")
        self.assertIn("You are looks, with the right look.", self.window.text("#who"))
        self.assertEqual({"Put a job", "Kick", "Pause", "Who works"} & set(offered()), set())
        self.assertLessEqual({"Jobs", "Find", "What recurs"}, set(offered()))
        self.go("tubes/mails?state=buried")
        self.window.wait_for_text("#list-text", "This is the only buried job.")
        self.assertEqual([one for one in offered() if "Limit" in one or "Kick" in one or "Cancel" in one or one == "list-mark"], [])
        self.assertFalse(self.window.find("#list-rows input").is_displayed())
        self.go(f"jobs/{number}")
        self.window.wait_for_text("#job-found", "Why it is buried")
        self.assertEqual({"Kick this job", "Move it to a time", "Cancel this job"} & set(offered()), set())
        self.assertIn("Close", offered())
        # Another user, who may do everything.
        self.window.run("sessionStorage.setItem('elapse-password', 'all:all'); location.hash = '#/'; location.reload()")
        self.window.wait_for_text("#who", "You are all")
        self.window.wait(lambda: self.tube("mails"), "the tube")
        self.assertLessEqual({"Put a job", "Kick", "Pause", "Who works", "Jobs"}, set(offered()))
        # What was taken away is gone as soon as the server has refused it.
        users.write_text(line("all", "put,look"), encoding="utf-8")
        running.signal(signal.SIGHUP)
        running.wait_for(b"reloaded: 1 users")
        self.press_of_tube("mails", "Kick")
        self.press("Kick")
        self.window.wait_for_text("#sure-dialog .problem", "needs the right admin")
        self.window.wait_for_text("#who", "with the rights put, look.")
        self.assertNotIn("Pause", offered())

    def test_a_user_without_an_overview(self):
        def line(name, rights, tubes=""):
            return f"{name} #{hashlib.sha256(name.encode()).hexdigest()} {rights} {tubes}\n"

        directory = self.enterContext(tempfile.TemporaryDirectory())
        users = pathlib.Path(directory, "users")
        users.write_text(line("shop", "look,admin", "orders,shop-*") + line("puts", "put") + line("all", "put,work,look,admin"), encoding="utf-8")
        users.chmod(0o600)
        running, client = self.start("--users", str(users))
        client.ask("AUTH", "all", "all")
        number, _ = client.ask("PUT", "orders", "hello")
        client.ask("PUT", "orders", "hello", "IN", "1h")
        hidden, _ = client.ask("PUT", "bills", "secret")
        client.ask("PUT", "shop-1", "hello")
        self.allowed = [UNAUTHORIZED, FORBIDDEN, re.compile(r"/events - Failed to load resource: the server responded with a status of 403"),
                        re.compile(r"/api/v1/jobs/\d+ - Failed to load resource: the server responded with a status of 404")]
        self.window.driver.get(running.address)
        self.window.wait(lambda: self.window.find("#password").is_displayed(), "the question")
        self.fill("#password", "shop:shop")
        self.click("#password-dialog button")
        self.window.wait_for_text("#narrow-text", "As shop you may look at jobs, change jobs and tubes, in the tubes orders, shop-*.")
        self.window.wait_for_text("#narrow-rows", "orders")
        self.assertEqual(self.window.run("return [...document.querySelectorAll('#narrow-rows td')].map((one) => one.textContent)"), ["orders", "1", "1", "0", "0", ""])
        self.assertEqual(self.window.text("#connection"), "No overview")
        for hidden_part in ("#lost", "#verdict", "#tubes", "#forecast", "#open-put"):
            self.assertFalse(self.window.find(hidden_part).is_displayed(), hidden_part)
        self.assertEqual(self.window.run(LOW_CONTRAST)["low"], [])
        self.assertEqual(self.window.run(NAMELESS), [])
        self.assertEqual(self.window.run(TOO_WIDE), [])
        self.assertTrue(self.window.find("#forget").is_displayed())
        # The page asks again whether there is an overview, and what the user has open stays open.
        self.window.run("document.querySelector('dialog:not(#password-dialog)').showModal(); window.dispatchEvent(new Event('online'))")
        self.window.wait(lambda: self.window.run("return stream === null"), "the answer")
        self.assertTrue(self.window.run("return document.querySelector('dialog[open]') !== null"))
        self.window.run("document.querySelector('dialog[open]').close()")
        # However often a device comes online, one question follows.
        timers = self.window.run("""const set = window.setTimeout, clear = window.clearTimeout, timers = window.waiting = new Set();
            window.setTimeout = (call, ms) => { const id = set(call, ms); if (ms === NARROW_RETRY_MS) timers.add(id); return id; };
            window.clearTimeout = (id) => { timers.delete(id); clear(id); };
            return timers.size""")
        self.assertEqual(timers, 0)
        for _ in range(3):
            self.window.run("window.dispatchEvent(new Event('online'))")
            self.window.wait(lambda: self.window.run("return stream === null"), "the answer")
        self.assertEqual(self.window.run("return window.waiting.size"), 1)
        self.fill("#narrow-tube", "bills")
        self.click("#narrow-form button")
        self.window.wait_for_text("#narrow-problem", "You may not look at tube bills.")
        self.fill("#narrow-tube", "shop-1")
        self.click("#narrow-form button")
        self.window.wait_for_text("#list-text", "This is the only job.")
        self.window.wait_for_text("#tube-text", "1 ready")
        self.go("tubes/orders?state=ready")
        self.window.wait_for_text("#list-text", "This is the only ready job.")
        self.window.wait_for_text("#list-actions", "Cancel all 1 ready")
        # What begins to be held back is shown, though no status comes.
        client.ask("LIMIT", "orders", "CONCURRENCY", "1")
        client.ask("RESERVE", "orders")
        client.ask("PUT", "orders", "hello")
        self.window.wait_for_text("#held-text", "1 held back by CONCURRENCY")
        client.ask("LIMIT", "orders", "NONE")
        self.window.wait(lambda: not self.window.find("#held").is_displayed(), "nothing is held back")
        # A job is found by its id, but not in another tube.
        self.find_job(number)
        self.fill("#find-text", str(hidden))
        self.click("#find button")
        self.window.wait_for_text("#found-text", "No job with this id is in a tube that you may look at.")
        # Who only puts.
        self.window.run("sessionStorage.setItem('elapse-password', 'puts:puts'); location.hash = '#/'; location.reload()")
        self.window.wait_for_text("#narrow-text", "As puts you may put jobs. To see jobs and figures you need the right look.")
        self.assertTrue(self.window.find("#open-put").is_displayed())
        self.assertFalse(self.window.find("#narrow-form").is_displayed())
        # Behind the question for a password nothing is asked.
        self.window.run("askForPassword()")
        self.assertFalse(self.window.run("return hasServer()"))
        self.window.run("password = 'puts:puts'; document.querySelector('#password-dialog').close()")
        # Rights that are given are noticed.
        users.write_text(line("puts", "put,look"), encoding="utf-8")
        running.signal(signal.SIGHUP)
        running.wait_for(b"reloaded: 1 users")
        self.window.run("reconnect()")
        self.window.wait(lambda: self.tube("orders"), "the overview")
        self.assertFalse(self.window.find("#narrow").is_displayed())

    def test_asks_for_the_password_once(self):
        self.allowed = [UNAUTHORIZED]
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as passwords:
            passwords.write("öffne-dich-☃\n")
            passwords.flush()
            os.chmod(passwords.name, 0o600)
            running = self.enterContext(server("--auth", passwords.name))
            self.window.driver.get(running.address)
            self.window.wait_for_text("#password-dialog", "asks for a password")
            self.assertEqual(self.window.run(LOW_CONTRAST)["low"], [])
            self.fill("#password", "wröng-☂\n")
            self.window.wait_for_text("#password-dialog", "does not know this password")
            self.fill("#password", "öffne-dich-☃\n")
            self.window.wait_for_text("#connection", "Live")
            self.window.open(running.address)  # without a question
            self.assertFalse(self.window.run("return localStorage.length > 0 || document.cookie !== ''"))
            self.click("#forget")
            self.window.wait_for_text("#password-dialog", "asks for a password")


if __name__ == "__main__":
    chromium.need()
    unittest.main()
