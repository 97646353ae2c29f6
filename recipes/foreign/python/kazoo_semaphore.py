"""kazoo's Semaphore: a new one for each acquire, since a cancel would stay with it."""
from kazoo.version import __version__

import driver


class Semaphore(driver.Client):
    semaphore = None

    def __init__(self, request, tell):
        super().__init__(request, tell)
        self.permits = request["permits"]

    def prepare(self, request):
        if request["op"] == "acquire":
            # Below the path: the recipe locks at a sibling of its own.
            self.semaphore = self.zk.Semaphore(self.path + "/leases", max_leases=self.permits)

    def acquire(self, limit):
        if limit is None:
            got = self.semaphore.acquire()
        elif limit == 0:
            got = self.semaphore.acquire(blocking=False)
        else:
            got = self.semaphore.acquire(timeout=limit)
        if not got:
            raise driver.Failure("timeout", "not acquired in time")
        return {"node": self.semaphore.create_path, **self.session()}

    def release(self):
        if not self.semaphore or not self.semaphore.is_acquired:
            raise driver.Failure("failed", "nothing is held")
        self.semaphore.release()

    def holds(self):
        return bool(self.semaphore and self.semaphore.is_acquired)

    def cancel(self):
        if self.semaphore:
            self.semaphore.cancel()


driver.run({
    "recipe": "semaphore", "about": f"kazoo {__version__} Semaphore",
    "promises": {"exclusive": True},
    "ops": ["acquire", "release", "limit", "write", "cancel", "holds", "auth"],
}, Semaphore)
