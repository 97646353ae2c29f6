"""A zkbench driver for a lock in Python.

    zkbench subject check -- python3 lock.py
    zkbench run churn --subject lock/mine --exec 'lock/mine=python3 lock.py'
"""
import json
import os
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import CancelledError, SessionExpiredError
from kazoo.recipe.lock import Lock  # your own lock comes here

RECIPE = "lock"  # or election, rwlock, semaphore, barrier
BEGIN, END = ("enter", "leave") if RECIPE == "barrier" else ("acquire", "release")

writing = threading.Lock()
clients = {}


def say(line):
    with writing:
        print(json.dumps(line), flush=True)


class Client:
    def __init__(self, request):
        self.number, self.path = request["client"], request["path"]
        self.size = request.get("permits", request.get("parties"))  # of a semaphore, of a barrier
        self.mode = None  # of the next acquire of a read-write lock: "read" or "write"
        self.lock = self.thread = self.pending = None
        self.state = KazooState.CONNECTED
        self.zk = KazooClient(hosts=request["connect"], timeout=request["session_timeout_ms"] / 1000,
                              randomize_hosts=False, connection_retry={"max_tries": -1, "max_delay": 1})
        self.zk.add_listener(self.changed)
        self.zk.start(timeout=15)

    def changed(self, state):
        event = {KazooState.SUSPENDED: "suspended", KazooState.LOST: "lost"}.get(state)
        if state == KazooState.CONNECTED and self.state == KazooState.SUSPENDED:
            event = "restored"
        self.state = state
        if event:
            say({"event": event, "client": self.number, "at": time.monotonic_ns()})

    def acquire(self):
        self.lock = Lock(self.zk, self.path)
        self.lock.acquire()
        return {"node": self.path + "/" + self.lock.node}

    def release(self):
        lock, self.lock = self.lock, None
        lock.release()
        return {}

    def cancel(self):  # a lock that cannot give up an acquire has none: delete this method
        if self.thread and self.thread.is_alive() and self.lock:
            self.lock.cancel()

    def close(self):
        if hasattr(self, "cancel"):
            self.cancel()
            if self.thread:
                self.thread.join(5)
        self.zk.stop()
        self.zk.close()
        finish(self, self.pending, {"error": {"kind": "cancelled", "text": "the client was closed"}})


def finish(client, number, answer):
    """Answers the operation with that id, unless it has been answered."""
    with writing:
        if number is None or client.pending != number:
            return
        client.pending = None
    say({"id": number, **answer})


def operate(client, request):
    called = time.monotonic_ns()
    answer = {}
    try:
        client.mode = request.get("mode")
        answer["ok"] = result = client.acquire() if request["op"] == BEGIN else client.release()
    except CancelledError:
        answer["error"] = result = {"kind": "cancelled", "text": "given up"}
    except SessionExpiredError as e:
        answer["error"] = result = {"kind": "lost", "text": repr(e)}
    except Exception as e:
        answer["error"] = result = {"kind": "unknown", "text": repr(e)}
    result.update(called=called, at=time.monotonic_ns())
    finish(client, request["id"], answer)


def open_client(request):
    try:
        clients[request["client"]] = Client(request)
        say({"id": request["id"], "ok": {}})
    except Exception as e:
        say({"id": request["id"], "error": {"kind": "failed", "text": repr(e)}})


def close_client(request):
    clients.pop(request["client"]).close()
    say({"id": request["id"], "ok": {}})


HELLO = {"protocol": 1, "recipe": RECIPE, "about": "my lock", "variant": "predecessor",
         "promises": {"exclusive": True, "fifo": True},
         "ops": [BEGIN, END] + ["cancel"] * hasattr(Client, "cancel"), "events": True, "max_clients": 100}

for line in sys.stdin:
    request = json.loads(line)
    op, client = request["op"], clients.get(request.get("client"))
    if op == "hello" and request["protocol"] == 1:
        say({"id": request["id"], "ok": HELLO})
    elif op == "clock":
        say({"id": request["id"], "ok": {"now": time.monotonic_ns()}})
    elif op == "open":
        threading.Thread(target=open_client, args=(request,)).start()
    elif client is None and op != "hello":
        say({"id": request["id"], "error": {"kind": "failed", "text": "the client is not open"}})
    elif op == END and not client.lock:
        say({"id": request["id"], "error": {"kind": "failed", "text": "nothing is held"}})
    elif op == "cancel" and hasattr(client, "cancel"):
        client.cancel()
        say({"id": request["id"], "ok": {}})
    elif op == "close":
        threading.Thread(target=close_client, args=(request,)).start()
    elif RECIPE == "rwlock" and op == BEGIN and request.get("mode") not in ("read", "write"):
        say({"id": request["id"], "error": {"kind": "failed", "text": "mode is read or write"}})
    elif op in (BEGIN, END):
        client.pending = request["id"]
        client.thread = threading.Thread(target=operate, args=(client, request))
        client.thread.start()
    else:
        say({"id": request["id"], "error": {"kind": "unsupported", "text": op}})
for client in list(clients.values()):
    client.close()
os._exit(0)  # an acquire that cannot be given up may still run
