"""kazoo's ReadLock and WriteLock: a new one for each acquire, since a cancel would stay with it."""
from kazoo.version import __version__

import driver
import kazoo_lock


class RWLock(kazoo_lock.Lock):
    def prepare(self, request):
        if request["op"] == "acquire":
            kinds = {"read": self.zk.ReadLock, "write": self.zk.WriteLock}
            if request.get("mode") not in kinds:
                raise driver.Failure("failed", f"mode is {request.get('mode')!r}, and may be read or write")
            self.lock = kinds[request["mode"]](self.path)


driver.run({
    "recipe": "rwlock", "about": f"kazoo {__version__} ReadLock and WriteLock", "variant": "predecessor",
    "promises": {"exclusive": True, "fifo": True},
    "ops": ["acquire", "release", "limit", "write", "cancel", "holds", "auth"],
}, RWLock)
