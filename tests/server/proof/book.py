"""Notes what clients know of their jobs, and so what the server must not do.

Each command has an interval. It begins when the command is sent, and ends when its reply is read, or
when the server dies if no reply came. A command whose reply came has happened. A command without a reply
may have happened. Nothing else is uncertain. The promises have the numbers of docs/promises.md.
"""

import time

DEAD = {"DELETED", "ok", "removed", "running"}  # answers after which nobody gets the job


class Change:
    """A command that gives a job another due time."""

    def __init__(self, sent, due):
        self.sent, self.end, self.happened = sent, None, None
        self.due = due


class Lease:
    """A hand-out that was read. It lasts at least until `until`, if nobody ends it."""

    def __init__(self, job, name, sent, ttr, life, connection):
        self.job, self.name, self.sent, self.life = job, name, sent, life
        self.connection = connection  # of beanstalkd: the lease ends with it
        self.read = time.monotonic()
        self.until = sent + ttr
        self.may_have_ended = False


class Job:
    def __init__(self, body, ttr):
        self.body, self.ttr = body, ttr
        self.id = None
        self.exists = False      # a put was answered, or it was handed out
        self.dead_at = None      # when the first answer was read after which nobody gets it
        self.removals = 0        # commands that were sent to remove it, of any outcome
        self.open_removals = 0   # those of which no answer came
        self.changes = []
        self.lease = None        # the last hand-out
        self.put_read = None

    def __str__(self):
        return self.body[:self.body.rindex("-")]

    def must_be_there(self):
        return self.exists and self.dead_at is None and self.open_removals == 0

    def earliest(self):
        """The earliest due time that it may have: of each change that no other one follows."""
        happened = [c.sent for c in self.changes if c.happened]
        newest = max(happened, default=0)
        dues = [c.due for c in self.changes
                if c.happened is not False and (c.end is None or c.end >= newest)]
        return min(dues, default=0)


class Book:
    def __init__(self):
        self.faults = []
        self.jobs = {}           # by body
        self.ids = {}            # by id
        self.lease_names = set()
        self.life = 0
        self.last_answered = [0.0]  # by life: when the last command was sent that was answered
        self.counts = {}

    def count(self, name, number=1):
        self.counts[name] = self.counts.get(name, 0) + number

    def fault(self, text):
        self.faults.append(f"life {self.life}: {text}")

    def begin_life(self):
        self.life += 1
        self.last_answered.append(0.0)

    def answered(self, sent):
        self.count("answered")
        self.last_answered[self.life] = max(self.last_answered[self.life], sent)

    # ---- puts and changes ----

    def put_sent(self, body, ttr, sent, delay):
        job = self.jobs.get(body)
        if job is None:
            job = self.jobs[body] = Job(body, ttr)
            job.changes.append(Change(sent, sent + delay))
            job.changes[0].happened = True
            job.changes[0].end = sent
        return job

    def put_answered(self, job, number):
        self.count("put")
        self.name(job, number)
        job.exists = True
        job.put_read = job.put_read or time.monotonic()

    def name(self, job, number):
        """A job has one id, and an id has one job."""
        if job.id is None:
            job.id = number
        if job.id != number:
            self.fault(f"Q5 {job} is there twice: as {job.id} and as {number}")
        if self.ids.setdefault(number, job) is not job:
            self.fault(f"Q5 id {number} is used again: {self.ids[number]}, {job}")

    def change_sent(self, job, sent, due):
        change = Change(sent, due)
        job.changes.append(change)
        return change

    def change_ended(self, job, change, happened):
        """`happened` is None if no answer came."""
        change.happened, change.end = happened, time.monotonic()
        if happened:
            # What ended before this one was sent says nothing any more.
            job.changes = [c for c in job.changes
                           if c.end is None or c.end >= change.sent or c is change]

    # ---- removals ----

    def removal_sent(self, job):
        job.removals += 1

    def removal_ended(self, job, answer, whole=None):
        """`answer` is None if none came. `whole`: a moment before which the job was there for
        certain, with nobody to remove it but this command."""
        if answer is None:
            job.open_removals += 1
        elif answer in DEAD:
            self.count("removed")
            job.dead_at = job.dead_at or time.monotonic()
        elif whole:
            self.fault(f"Q2 {job} ({job.id}) was to be removed, and is not there: {answer}")

    # ---- hand-outs ----

    def handed_out(self, body, number, name, sent, connection):
        """A reply of a reserve, which was sent at `sent`, has a job. Returns its lease."""
        self.count("handed out")
        now = time.monotonic()
        job = self.jobs.get(body)
        if job is None:
            self.fault(f"Q2 nobody has put {body!r}")
            return None
        self.name(job, number)
        job.exists = True
        if job.dead_at is not None and sent > job.dead_at:
            self.fault(f"Q3 {job} ({number}) is handed out {now - job.dead_at:.3f} s after the "
                       "answer that it was removed")
        early = job.earliest() - now
        if early > 0:
            self.fault(f"Q1 {job} ({number}) is {early * 1e3:.3f} ms early")
        if name is not None and name in self.lease_names:
            self.fault(f"Q6 the lease {name} has come twice")
        self.lease_names.add(name)
        old = job.lease
        # A reply that was long under way may be of a lease that has ended since.
        fresh = now < sent + job.ttr
        if old is not None and fresh and now < old.until and self.still_holds(old):
            self.fault(f"Q6 {job} ({number}) is handed out {(old.until - now) * 1e3:.3f} ms before "
                       f"the lease {old.name} of life {old.life} ends")
        if old is not None and old.life < self.life:
            self.count("handed out again after a kill")
        job.lease = Lease(job, name, sent, job.ttr, self.life, connection)
        return job.lease

    def still_holds(self, lease):
        """Whether this lease must hold, as long as its time is not over."""
        if lease.may_have_ended:
            return False
        if lease.life == self.life:
            return True
        # Its record was durable if a command that was sent later has been answered in that life.
        return lease.connection is None and self.last_answered[lease.life] > lease.read

    def use_answered(self, lease, held, newest, removals_before, answer):
        """A command of a worker was answered. When it was sent, `held`: still_holds said so;
        `newest`: nobody had got the job since."""
        if not newest and answer in ("ok", "DELETED"):
            self.fault(f"Q6 {lease.job}: the lease {lease.name} did {answer}, after another "
                       "worker got the job")
        if answer in ("gone", "NOT_FOUND") and held and lease.job.lease is lease \
                and lease.job.removals == removals_before and time.monotonic() < lease.until:
            self.fault(f"Q6 {lease.job}: the lease {lease.name} of life {lease.life} is "
                       f"{answer}, {(lease.until - time.monotonic()) * 1e3:.0f} ms before its end")
        if held and lease.life < self.life and answer == "ok":
            self.count("leases used after a kill")

    # ---- the end ----

    def missing(self):
        return [job for job in self.jobs.values() if job.must_be_there()]


class Keys:
    """The keys of one client, whose jobs nobody else touches: the states that each may be in.

    A state is None, or (body, least due, greatest due) in milliseconds of the wall clock."""

    # A look-up tells the due time of a delay by the wall clock: from two clocks, each rounded to
    # its millisecond.
    SLACK_MS = 1

    def __init__(self, book):
        self.book = book
        self.states = {}

    def of(self, key):
        return self.states.setdefault(key, [None])

    def apply(self, key, step, answer):
        """`step` gives the state after a command and the answers that it may have. Without an
        answer both states stay possible."""
        before = self.of(key)
        after = []
        for state in before:
            then, answers = step(state)
            if answer is None or answer in answers:
                after.append(then)
        if answer is None:
            after += before
        elif not after:
            self.book.fault(f"Q5 key {key}: {answer} is not possible in {before}")
            after = [None]
        self.states[key] = after

    def seen(self, key, found):
        """`found` is None, or (body, due)."""
        def fits(state):
            if state is None or found is None:
                return state is found
            return state[0] == found[0] and \
                state[1] - self.SLACK_MS <= found[1] <= state[2] + self.SLACK_MS
        fitting = [state for state in self.of(key) if fits(state)]
        if not fitting:
            self.book.fault(f"Q2/Q3 key {key}: {found} is there, and must be one of {self.of(key)}")
        self.book.count("keys looked at")
        self.states[key] = fitting[:1] or [found and (found[0], found[1], found[1])]
