"""What PostgreSQL and RabbitMQ have in common: several processes, and loads that prepare them."""

import os
import signal
import time

import server


def is_running(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Peer(server.Server):
    """A contender whose load program can also wait for it, and prepare it."""

    start_limit_s = 300

    def prepare(self, verb, **options):
        """Runs a verb that prints nothing. Returns whether it succeeded."""
        load = self.start_load(verb, **options)
        load.communicate()
        return load.returncode == 0

    def is_ready(self):
        return self.prepare("ready", seconds=0.2)

    def kill(self):
        """The first process first: it would start others in the place of those that end."""
        processes = self.processes()
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        while any(is_running(process) for process in processes):
            time.sleep(0.001)
