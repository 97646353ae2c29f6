"""kazoo's DoubleBarrier: a new one for each generation, since a failed enter would stay with it."""
from kazoo.version import __version__

import driver


class Barrier(driver.Client):
    barrier = None

    def __init__(self, request, tell):
        super().__init__(request, tell)
        self.parties = request["parties"]

    def acquire(self, limit):
        self.barrier = self.zk.DoubleBarrier(self.path, self.parties)
        self.barrier.enter()
        if not self.barrier.participating:  # enter() reports no error
            raise driver.Failure("unknown", "enter() returned, and the client does not participate")
        return {"node": self.barrier.create_path, **self.session()}

    def release(self):
        if not self.barrier or not self.barrier.participating:
            raise driver.Failure("failed", "the client is not inside")
        self.barrier.leave()


driver.run({
    "recipe": "barrier", "about": f"kazoo {__version__} DoubleBarrier", "promises": {"exclusive": True},
    "ops": ["enter", "leave", "write", "auth"],
}, Barrier)
