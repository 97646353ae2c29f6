"""kazoo's Lock: a new one for each acquire, since a cancel would stay with it."""
from kazoo.version import __version__

import driver


class Lock(driver.Client):
    lock = None

    def prepare(self, request):
        if request["op"] == "acquire":
            self.lock = self.zk.Lock(self.path)

    def acquire(self, limit):
        lock = self.lock
        if limit is None:
            got = lock.acquire()
        elif limit == 0:
            got = lock.acquire(blocking=False)
        else:
            got = lock.acquire(timeout=limit)
        if not got:
            raise driver.Failure("timeout", "not acquired in time")
        return {"node": f"{self.path}/{lock.node}", **self.session()}

    def release(self):
        if not self.lock or not self.lock.release():
            raise driver.Failure("failed", "nothing is held")

    def holds(self):
        return bool(self.lock and self.lock.is_acquired)

    def cancel(self):
        if self.lock:
            self.lock.cancel()



if __name__ == "__main__":
    driver.run({
        "recipe": "lock", "about": f"kazoo {__version__} Lock", "variant": "predecessor",
        "promises": {"exclusive": True, "fifo": True},
        "ops": ["acquire", "release", "limit", "write", "cancel", "holds", "auth"],
    }, Lock)
