"""The subject protocol of zkbench (zkbench help drivers) for a recipe of kazoo.

Requests come as lines of JSON on stdin, answers and events leave on stdout. Each client
has a thread of its own, on which its operations run one after another; the thread that
reads stdin never waits for a recipe.
"""
import json
import logging
import os
import queue
import sys
import threading
import time

from kazoo import exceptions
from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState
from kazoo.security import ACL, Id

CLOSING = 8  # s, for all clients together, when stdin ends
GIVING_UP = 0.5  # s, for an operation that is given up by a close
MAX_CLIENTS = 50  # kazoo has three threads a client


class Failure(Exception):
    """An answer that is an error: its kind says what may have happened."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def failure(error):
    """Say what an exception means. When in doubt the outcome is unknown."""
    if isinstance(error, Failure):
        return error
    kind = "unknown"
    if isinstance(error, exceptions.CancelledError):
        kind = "cancelled"
    elif isinstance(error, exceptions.LockTimeout):
        kind = "timeout"
    elif isinstance(error, exceptions.SessionExpiredError):
        kind = "lost"
    return Failure(kind, repr(error))


def spawn(target, *args):
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


class Client:
    """One client: a KazooClient with the listener that its documentation asks for.

    A recipe implements the operations that it offers, and raises what kazoo raises. All
    but cancel, holds and close run on the client's own thread.
    """

    def __init__(self, request, tell):
        self.tell = tell
        self.path, self.resource = request["path"], request["resource"]
        self.state = KazooState.CONNECTED
        self.timeout = request["session_timeout_ms"] / 1000
        self.zk = KazooClient(
            hosts=request["connect"], timeout=self.timeout,
            # By default the delay between two attempts to connect grows to an hour.
            connection_retry={"max_tries": -1, "max_delay": 1},
            auth_data=[(a["scheme"], a["auth"]) for a in request.get("auth", [])],
            default_acl=[ACL(a["perms"], Id(a["scheme"], a["id"])) for a in request.get("acl", [])] or None)
        self.zk.start(timeout=15)
        self.zk.add_listener(self.changed)

    def changed(self, state):
        """A session that follows a lost one is not a restored one."""
        before, self.state = self.state, state
        if state == KazooState.SUSPENDED:
            self.tell("suspended")
        elif state == KazooState.LOST:
            self.tell("lost")
        elif before == KazooState.SUSPENDED:
            self.tell("restored")

    def session(self):
        """Return the session's id where it is known: while connected."""
        known = self.zk.client_id
        return {"session": known[0]} if known else {}

    def write(self, value):
        self.zk.set(self.resource, value.encode())

    def prepare(self, request):
        """Make what a cancel of the operation needs, before the operation begins."""

    def cancel(self):
        """Give up the operation under way."""

    def unanswered(self, op):
        """Return the kind of error of an operation that was under way when the client was closed."""
        return "cancelled" if op in ("acquire", "enter") else "unknown"

    def close(self):
        self.zk.stop()
        self.zk.close()


class Operation:
    """An operation under way. It is answered once: by itself, or by the client's close."""

    def __init__(self, driver, request):
        self.driver, self.request = driver, request
        self.lock, self.answered = threading.Lock(), threading.Event()

    def answer(self, line):
        """Return whether this was the answer."""
        with self.lock:
            if self.answered.is_set():
                return False
            self.answered.set()
            self.driver.write({"id": self.request["id"], **line})
            return True

    def answer_after(self, seconds, kind, text):
        """Answer if the recipe does not do so in time."""
        self.answered.wait(seconds)
        self.answer({"error": {"kind": kind, "text": text}})


class Seat:
    """A client as zkbench sees it: its number, its thread, and the operation under way."""

    def __init__(self, driver, number):
        self.driver, self.number = driver, number
        self.client, self.under, self.closed = None, None, False
        self.tasks = queue.SimpleQueue()
        spawn(self.work)

    def work(self):
        for task in iter(self.tasks.get, None):
            task()

    def open(self, request, make):
        try:
            self.client = make(request, self.tell)
            self.driver.ok(request, self.client.session())
        except Exception as error:
            self.driver.seats.pop(self.number, None)
            self.driver.error(request, Failure("failed", repr(error)))

    def tell(self, event):
        if not self.closed:
            self.driver.write({"event": event, "client": self.number, "at": time.monotonic_ns()})

    def start(self, request):
        self.client.prepare(request)
        self.under = Operation(self.driver, request)
        self.tasks.put(lambda operation=self.under: self.run(operation))

    def run(self, operation):
        client, request, then = self.client, operation.request, None
        called = time.monotonic_ns()
        try:
            if request["op"] in ("acquire", "enter"):
                limit = request.get("limit_ms")
                done = client.acquire(None if limit is None else limit / 1000)
            elif request["op"] == "take":
                item, then = client.take()
                done = {"item": item.decode()}
            elif request["op"] == "put":
                done = client.put(request["item"].encode())
            elif request["op"] == "write":
                done = client.write(request["value"])
            else:
                done = client.release()
            line, what = "ok", dict(done or {})
        except Exception as error:
            error = failure(error)
            line, what = "error", {"kind": error.kind, "text": str(error)}
        what.setdefault("at", time.monotonic_ns())
        self.under = None
        if operation.answer({line: {"called": called, **what}}) and then:
            try:
                then()
            except Exception:
                logging.exception("after the answer")

    def cancel(self):
        """kazoo repeats requests until it is connected again, and may not give up in time; the outcome is open then."""
        operation = self.under
        if operation:
            self.client.cancel()
            spawn(operation.answer_after, self.client.timeout, "unknown", "the recipe does not give up")

    def close(self, then):
        """End the session on a thread of its own. An operation under way is answered first."""
        self.closed = True
        return spawn(self.end, self.under, then)

    def end(self, operation, then):
        if operation:
            self.client.cancel()
            patience = GIVING_UP if "cancel" in self.driver.hello["ops"] else 0
            operation.answer_after(patience, self.client.unanswered(operation.request["op"]), "the client was closed")
        try:
            self.client.close()
        except Exception:
            logging.exception("close")  # the session expires
        self.tasks.put(None)
        then()


class Driver:
    def __init__(self, hello, make):
        self.hello, self.make = {"protocol": 1, "events": True, "max_clients": MAX_CLIENTS, **hello}, make
        self.out, sys.stdout = sys.stdout, sys.stderr  # what is printed must not get between the lines
        self.seats, self.lock = {}, threading.Lock()

    def write(self, line):
        text = json.dumps(line) + "\n"
        with self.lock:
            self.out.write(text)
            self.out.flush()

    def ok(self, request, answer):
        self.write({"id": request["id"], "ok": answer})

    def error(self, request, error):
        self.write({"id": request["id"], "error": {"kind": error.kind, "text": str(error)}})

    def serve(self):
        for line in sys.stdin:
            request = json.loads(line)
            try:
                self.take(request, request["op"])
            except Failure as error:
                self.error(request, error)

    def take(self, request, op):
        if op == "hello":
            if request["protocol"] != 1:
                raise Failure("unsupported", "this driver speaks protocol 1")
            return self.ok(request, self.hello)
        if op == "clock":
            return self.ok(request, {"now": time.monotonic_ns()})
        number = request.get("client")
        seat = self.seats.get(number)
        if op == "open":
            if seat:
                raise Failure("failed", f"client {number} is open")
            seat = self.seats[number] = Seat(self, number)
            return seat.tasks.put(lambda: seat.open(request, self.make))
        if op not in [*self.hello["ops"], "close"]:
            raise Failure("unsupported", f"this driver has no {op}")
        if not seat or not seat.client:
            raise Failure("failed", f"client {number} is not open")
        if op == "close":
            del self.seats[number]
            seat.close(lambda: self.ok(request, {}))
        elif op == "cancel":
            seat.cancel()
            self.ok(request, {})
        elif op == "holds":
            self.ok(request, {"holds": seat.client.holds()})
        elif seat.under and not seat.under.answered.is_set():
            raise Failure("failed", "an operation is under way")
        else:
            seat.start(request)

    def close_all(self):
        closing = [seat.close(lambda: None) for seat in self.seats.values() if seat.client]
        until = time.monotonic() + CLOSING
        for thread in closing:
            thread.join(max(0, until - time.monotonic()))


def run(hello, make):
    """Serve until stdin ends, then close all sessions and exit with 0."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    driver = Driver(hello, make)
    driver.serve()
    driver.close_all()
    sys.stderr.flush()
    os._exit(0)  # a get of LockingQueue waits for ever
