"""kazoo's Election: its run() calls the leader's function, which leads until it is told to stop."""
import threading
import time

from kazoo.version import __version__

import driver


class Term:
    """One candidacy: run() on a thread of its own, from standing in line to the end of the term."""

    def __init__(self, election):
        self.election, self.at, self.error = election, None, None
        self.settled, self.over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        try:
            self.election.run(self.lead)
        except Exception as error:
            self.error = error
        self.settled.set()

    def lead(self):
        self.at = time.monotonic_ns()
        self.settled.set()
        self.over.wait()


class Election(driver.Client):
    term = None

    def prepare(self, request):
        if request["op"] == "acquire":
            self.term = Term(self.zk.Election(self.path))

    def acquire(self, limit):
        term = self.term
        term.thread.start()
        term.settled.wait()
        if not term.at:
            self.term = None
        if term.error:
            raise term.error
        if not term.at:
            raise driver.Failure("cancelled", "run() returned without leading")
        return {"at": term.at, **self.session()}

    def release(self):
        term, self.term = self.term, None
        if not term:
            raise driver.Failure("failed", "nothing is held")
        term.over.set()
        term.thread.join()
        if term.error:
            raise term.error

    def cancel(self):
        if self.term:
            self.term.election.cancel()


driver.run({
    "recipe": "election", "about": f"kazoo {__version__} Election", "variant": "predecessor",
    "promises": {"exclusive": True, "fifo": True},
    "ops": ["acquire", "release", "write", "cancel", "auth"],
}, Election)
