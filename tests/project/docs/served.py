#!/usr/bin/env python3
"""served.py: runs the blocks of pages that need a server of their own. Each such block has the comment
`<!-- test: by tests/project/docs/served.py -->` in the line before. ELAPSE_PROGRAM names the program.

Blocks of the kind `sh` run in their order, in one folder. A line that starts a server starts one at a
free port, and the addresses of the page are replaced by its own. A worker without --until-empty runs until
all of the page's output was printed, and is then ended, as Ctrl-C ends it. `elapse run` with a file of timers
runs for two seconds. A block of the kind `text`
is what the block of `sh` or `python` before it prints; without one the output is not compared. Blocks of the kind `python` run one after the
other in one interpreter, with the package for Python; without redis-py they are left out.

    served.py [PAGE]...    these pages alone
"""

import contextlib
import io
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import markdown
import page

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "clients/python/src")]

import server_process  # noqa: E402

PAGES = ["README.md", "docs/guide/server.md", "docs/guide/cron_job.md", "docs/guide/dead_letters.md",
         "docs/guide/chat_timeouts.md"]
MARK = ("by", "tests/project/docs/served.py")
SERVES = re.compile(r"(?:\./dev|elapse|build/release/elapse) serve\b(.*?)\s*&?$")
ADDRESSES = re.compile(r"--(?:listen|http) \S+")
RUNS = re.compile(r"^elapse run ", re.M)
WORKS = re.compile(r"(?:^|/)elapse work (?!.*--until-empty)", re.M)


class Faulty(Exception):
    """What a page shows is not what happens."""


class Page:
    """A page, the server that it starts, and the folder in which its commands run."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.server = None
        self.addresses = {}
        self.space = {"__name__": "page"}
        program = pathlib.Path(server_process.PROGRAM).resolve()
        for place in ("bin/elapse", "build/release/elapse"):
            (folder / place).parent.mkdir(parents=True)
            (folder / place).symlink_to(program)
        self.environment = dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")

    def start_server(self, said):
        if self.server is not None:
            raise Faulty("a second server")
        http = "--http" in said
        words = shlex.split(ADDRESSES.sub("", said))
        words += ["--listen", "127.0.0.1:0", "--segment-bits", "18"]
        self.server = server_process.ServerProcess(
            self.folder / "log", words + (["--http", "127.0.0.1:0"] if http else []), cwd=self.folder)
        port = str(self.server.wait_for_port())
        self.addresses = {"127.0.0.1:11300": f"127.0.0.1:{port}", "-p 11300": f"-p {port}",
                          "127.0.0.1 11300": f"127.0.0.1 {port}"}
        self.environment["ELAPSE_SERVER"] = f"127.0.0.1:{port}"
        if http:
            found = re.search(rb"listening: http:(\S+)", self.server.log())
            self.addresses["127.0.0.1:11380"] = found.group(1).decode()

    def replace(self, text):
        for old, new in self.addresses.items():
            text = text.replace(old, new)
        return text

    def run_sh(self, text, expected):
        """Runs the lines, and returns what they print."""
        script = []
        for line in text.splitlines():
            serves = SERVES.match(line)
            if serves:
                self.start_server(serves.group(1))
            else:
                script.append(line)
        script = RUNS.sub("timeout --foreground --preserve-status -s INT 2 elapse run ", "\n".join(script))
        script = self.replace(script)
        if not script.strip():
            return ""
        log = self.folder / "printed"
        with open(log, "wb") as output:
            process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, stdout=output,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env=self.environment, start_new_session=True)
        endless = WORKS.search(script) is not None
        if endless and expected is None:
            raise Faulty("a worker that does not end, and no output to wait for")
        end = time.monotonic() + page.PATIENCE_S
        while process.poll() is None and time.monotonic() < end:
            if endless:
                printed = log.read_text()  # a worker that is ended says so: that is not on the page
                if page.matches(expected, printed):
                    os.killpg(process.pid, signal.SIGTERM)
                    process.wait(page.PATIENCE_S)
                    return printed
            time.sleep(0.01)
        if process.poll() is None:
            page.end_session(process.pid)
            raise Faulty(f"takes longer than {page.PATIENCE_S} s:\n{log.read_text()}")
        if process.returncode != 0:
            raise Faulty(f"status {process.returncode}:\n{log.read_text()}")
        return log.read_text()

    def run_python(self, text):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(self.replace(text), self.name, "exec"), self.space)
        return said.getvalue()

    def run(self):
        blocks = [block for block in markdown.split((ROOT / self.name).read_text())[0] if block.marker == MARK]
        if not blocks:
            raise Faulty("no block names this test")
        for at, block in enumerate(blocks):
            after = blocks[at + 1] if at + 1 < len(blocks) else None
            expected = after.text if after is not None and after.language == "text" else None
            if block.language == "text":
                if at == 0 or blocks[at - 1].language == "text":
                    raise Faulty(f"line {block.line}: text that follows no block with output")
                continue
            if "redis-cli" in block.text and shutil.which("redis-cli") is None:
                print(f"left out: {self.name}:{block.line}: there is no redis-cli")
                continue
            if block.language == "python" and not has_redis():
                print(f"left out: {self.name}:{block.line}: there is no redis-py")
                continue
            try:
                if block.language not in ("sh", "python"):
                    raise Faulty(f"a block of kind {block.language}")
                printed = (self.run_python(block.text) if block.language == "python"
                           else self.run_sh(block.text, expected))
                if expected is not None and not page.matches(expected, printed):
                    raise Faulty(f"the output differs from the page; it is:\n{printed}")
            except Exception as fault:
                raise Faulty(f"line {block.line}: {type(fault).__name__}: {fault}") from fault

    def end(self):
        if self.server is not None:
            self.server.kill()


def has_redis():
    try:
        import redis  # noqa: F401 # pylint: disable=unused-import,import-outside-toplevel
    except ImportError:
        return False
    return True


def main():
    faults = []
    for name in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory(prefix="elapse-served-") as folder:
            one = Page(name, pathlib.Path(folder))
            try:
                one.run()
            except Faulty as fault:
                faults.append(f"{name}: {fault}")
            finally:
                one.end()
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
