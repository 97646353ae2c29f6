"""kazoo's Queue. Its get() returns None when the queue is empty, so a consumer asks again and again."""
import threading

from kazoo.version import __version__

import driver

PAUSE = 0.01  # s, between two questions to an empty queue


class Queue(driver.Client):
    given_up = None  # of the operation under way

    def __init__(self, request, tell):
        super().__init__(request, tell)
        self.queue = self.zk.Queue(self.path)

    def put(self, item):
        self.queue.put(item)

    def prepare(self, op):
        self.given_up = threading.Event()

    def take(self):
        given_up = self.given_up
        while not given_up.is_set():
            item = self.queue.get()
            if item is not None:
                return item, None
            given_up.wait(PAUSE)
        raise driver.Failure("cancelled", "given up between two questions")

    def cancel(self):
        self.given_up.set()


driver.run({
    "recipe": "queue", "about": f"kazoo {__version__} Queue", "variant": "polling",
    "promises": {"fifo": True, "delivery": "exactly-once"},
    "ops": ["put", "take", "write", "cancel", "auth"],
}, Queue)
