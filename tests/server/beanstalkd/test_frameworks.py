#!/usr/bin/env python3
"""test_frameworks.py PAGE: runs the blocks of docs/guide/laravel.md or rails.md against a server. It is
skipped if the language or a package is not installed.

The first block of a page is the file shop.php or shop.rb. The second block is a program that uses this
file. The third block is what the program has to print.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import server_process  # noqa: E402

ME = "tests/server/beanstalkd/test_frameworks.py"
BLOCK = re.compile(rf"<!-- test: by {re.escape(ME)} -->\n```\w+\n(.*?)```\n", re.DOTALL)
# The Debian packages of each page, and a command that fails without them.
NEEDS = {
    "docs/guide/laravel.md": ("php-cli php-illuminate-queue php-pda-pheanstalk php-redis", ["php", "-r",
        "foreach (['Illuminate/Queue', 'Pheanstalk'] as $part)"
        " if (!stream_resolve_include_path(\"$part/autoload.php\")) exit(1); exit(class_exists('Redis') ? 0 : 1);"]),
    "docs/guide/rails.md": ("ruby-activejob ruby-beaneater ruby-redis",
              ["ruby", "-e", "require 'active_job'; require 'beaneater'; require 'redis'"]),
}


def main(page):
    packages, probe = NEEDS[page]
    if not shutil.which(probe[0]) or subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        print(f"skipped: one of these packages is not installed: {packages}")
        return server_process.SKIPPED
    library, program, printed = BLOCK.findall((ROOT / page).read_text())
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        (path / ("shop.php" if probe[0] == "php" else "shop.rb")).write_text(library)
        (path / "program").write_text(program)
        server = server_process.ServerProcess(path / "log", [*server_process.FREE_PORT, "--durability", "memory"])
        try:
            environment = {**os.environ, "ELAPSE_PORT": str(server.wait_for_port())}
            ran = subprocess.run([probe[0], "program"], cwd=path, env=environment, check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            server.stop()
        finally:
            server.kill()
    if ran.returncode != 0 or ran.stdout != printed:
        print(f"expected:\n{printed}\ngot: {ran}")
        return 1
    return 0


sys.exit(main(sys.argv[1]))
