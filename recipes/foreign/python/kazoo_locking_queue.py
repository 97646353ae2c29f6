"""kazoo's LockingQueue: get() locks an entry, consume() removes it once it is processed.

Processing takes no time here, so consume() follows the answer. Nothing ends a get() that waits.
"""
from kazoo.version import __version__

import driver


class LockingQueue(driver.Client):
    def __init__(self, request, tell):
        super().__init__(request, tell)
        self.queue = self.zk.LockingQueue(self.path)

    def put(self, item):
        self.queue.put(item)

    def take(self):
        return self.queue.get(), self.queue.consume

    def unanswered(self, op):
        """What a get has locked is free again when the session ends."""
        return "cancelled" if op == "take" else super().unanswered(op)


driver.run({
    "recipe": "queue", "about": f"kazoo {__version__} LockingQueue", "variant": "parent",
    "promises": {"delivery": "at-least-once"},
    "ops": ["put", "take", "write", "auth"],
}, LockingQueue)
