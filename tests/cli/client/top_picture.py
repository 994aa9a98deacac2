#!/usr/bin/env python3
"""Takes a picture of `elapse top` on a terminal for README. Starts a server of its own, and gives it some
load.

    ELAPSE_PROGRAM=build/release/elapse tests/cli/client/top_picture.py docs/pictures/top.png
"""

import base64
import fcntl
import html
import os
import pathlib
import pty
import random
import re
import select
import struct
import sys
import tempfile
import termios
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "server/page"))
import browser as chromium  # noqa: E402

ROWS, COLUMNS = 12, 92
JOBS = 200_000
LOOK_S = 5  # rates need two looks, and steady ones a few
STYLE = ("body{margin:0;background:#0d1117}pre{margin:0;padding:14px 18px;color:#c9d1d9;"
         "font:14px/1.45 'DejaVu Sans Mono',monospace;display:inline-block}b{color:#fff}i{color:#8b949e;font-style:normal}")


def load(port, stop, tubes, connection):
    """Puts some hundred jobs a second, due within seconds."""
    source = random.Random(2)
    with connection(port) as client:
        while not stop.is_set():
            for _ in range(40):
                client.ask("PUT", source.choice(tubes), "x", "IN", f"{source.randrange(1, 3000)}ms")
            time.sleep(0.05)


def frames_of_top(port):
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.environ["TERM"] = "xterm"
        program = os.environ.get("ELAPSE_PROGRAM", "elapse")
        os.execvp(program, [program, "top", "--server", f"127.0.0.1:{port}"])
    written, end = b"", time.monotonic() + LOOK_S
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            written += os.read(terminal, 65536)
    os.write(terminal, b"q")
    os.waitpid(process, 0)
    return written.decode().split("\x1b[J")


def as_page(frame):
    """The lines as HTML: bold, faint, and what else is plain."""
    text = html.escape(frame.split("\x1b[H")[-1].replace("\r", ""))
    for code, tag in (("\x1b[1m", "<b>"), ("\x1b[2m", "<i>")):
        text = re.sub(re.escape(code) + "(.*?)" + re.escape("\x1b[0m"), tag + r"\1" + tag.replace("<", "</"), text)
    return f"<meta charset=utf-8><style>{STYLE}</style><pre>{re.sub(chr(27) + r'.*?[A-Za-z]', '', text)}</pre>"


def main():
    chromium.need()
    import page_test
    import pictures
    with tempfile.TemporaryDirectory() as directory:
        server = page_test.Server(directory, "--segment-bits", "24", "--durability", "interval=50")
        connection, stop = page_test.serving.Connection, threading.Event()
        with connection(server.port) as client:
            pictures.put_many(client, JOBS)
        for target, arguments in ((load, (server.port, stop, pictures.TUBES, connection)),
                                  (pictures.work, (server.port, stop))):
            threading.Thread(target=target, args=arguments, daemon=True).start()
        frame = frames_of_top(server.port)[-2]
        stop.set()
        time.sleep(1)
        server.end()
        page = pathlib.Path(directory, "top.html")
        page.write_text(as_page(frame), encoding="utf-8")
        with chromium.browser() as window:
            window.size((800, 330))
            window.driver.get(page.as_uri())
            width, height = window.run("const r = document.querySelector('pre').getBoundingClientRect();"
                                       "return [Math.ceil(r.width), Math.ceil(r.height)]")
            window.size((width, height))
            shot = window.command("Page.captureScreenshot", format="png")["data"]
            pathlib.Path(sys.argv[1]).write_bytes(base64.b64decode(shot))


main()
