"""Runs Chromium without a window, for the tests of the page and for its pictures."""

import contextlib
import importlib.util
import os
import shutil
import sys
import tempfile
import time

SKIPPED = 77  # what ctest takes for "skipped"
PATIENCE_S = 100  # a machine may be slow: a limit that no run comes near
DESK, PHONE = (1366, 900), (360, 740)


def need():
    """Ends the program as skipped where Chromium or Selenium is missing. Debian's Selenium is a module of
    the system's interpreter, which may not be the first in PATH."""
    missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    if not importlib.util.find_spec("selenium"):
        if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
            os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
        missing.append("selenium")
    if missing:
        print(f"skipped: not installed: {', '.join(missing)} (Debian: chromium, chromium-driver, python3-selenium)")
        sys.exit(SKIPPED)


class Browser:
    """A window with one page."""

    def __init__(self, driver):
        self.driver = driver

    def command(self, name, **parameters):
        """A command of the protocol of Chromium's developer tools."""
        return self.driver.execute_cdp_cmd(name, parameters)

    def size(self, size):
        self.command("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=size == PHONE)
        self.command("Emulation.setTouchEmulationEnabled", enabled=size == PHONE)  # (pointer: coarse)

    def theme(self, theme, motion="no-preference"):
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": theme}, {"name": "prefers-reduced-motion", "value": motion}])

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def wait(self, condition, reason):
        """Waits until a function returns something, and returns that."""
        end = time.monotonic() + PATIENCE_S
        while not (result := condition()):
            if time.monotonic() > end:
                raise AssertionError(f"this did not come: {reason}")
            time.sleep(0.05)
        return result

    def wait_for_text(self, selector, wanted):
        self.wait(lambda: wanted in self.text(selector), f"{wanted!r} in {selector}, which has {self.text(selector)!r}")

    def open(self, address):
        self.driver.get(address)
        self.wait_for_text("#connection", "Live")

    def complaints(self):
        """What the console has said since the last call: errors, and violations of the policy."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def picture(self, file, whole=True):
        """Saves a picture of the page: all of it, or what fits the window."""
        options = {}
        if whole:
            size = self.command("Page.getLayoutMetrics")["cssContentSize"]
            options = {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        import base64
        with open(file, "wb") as output:
            output.write(base64.b64decode(self.command("Page.captureScreenshot", format="png", **options)["data"]))


@contextlib.contextmanager
def browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--lang=en-GB", "--hide-scrollbars", *(["--no-sandbox"] if os.geteuid() == 0 else [])):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options.add_argument(f"--user-data-dir={profile}")
        driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        try:
            yield Browser(driver)
        finally:
            driver.quit()
