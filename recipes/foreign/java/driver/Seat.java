import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;

/** A client as zkbench sees it: its number, its thread, the operation under way, and its events. */
final class Seat {
    final int number;
    final String connect;
    final int timeoutMs;
    final String path;
    final int permits; // of a semaphore
    final int parties; // of a barrier
    private final String resource;
    private final JsonNode auth;
    private final JsonNode acl;

    private final Driver driver;
    private final ExecutorService thread;
    volatile Client client; // set when open

    private Operation under; // way, or null
    private boolean closed;
    private Connection connection = Connection.UP;

    private enum Connection {
        UP,
        SUSPENDED,
        LOST
    }

    Seat(Driver driver, int number, JsonNode open) {
        this.driver = driver;
        this.number = number;
        connect = open.path("connect").asText();
        timeoutMs = open.path("session_timeout_ms").asInt();
        path = open.path("path").asText();
        permits = open.path("permits").asInt();
        parties = open.path("parties").asInt();
        resource = open.path("resource").asText();
        auth = open.path("auth");
        acl = open.path("acl");
        thread = Executors.newSingleThreadExecutor(task -> daemon(task, "client-" + number));
    }

    /** What a connection authenticates with: scheme, and what that asks for. */
    void authenticate(BiConsumer<String, byte[]> with) {
        auth.forEach(a -> with.accept(a.path("scheme").asText(), a.path("auth").asText().getBytes(StandardCharsets.UTF_8)));
    }

    /** The list of every node that the client creates; null where it is open to all. */
    List<ACL> acl() {
        List<ACL> list = new ArrayList<>();
        acl.forEach(a -> list.add(new ACL(a.path("perms").asInt(), new Id(a.path("scheme").asText(), a.path("id").asText()))));
        return list.isEmpty() ? null : list;
    }

    private static Thread daemon(Runnable task, String name) {
        Thread t = new Thread(task, name);
        t.setDaemon(true);
        return t;
    }

    void open(long id, Driver.Opener opener) {
        thread.execute(() -> {
            try {
                client = opener.open(this);
                ObjectNode answer = Driver.JSON.createObjectNode();
                addSession(answer);
                driver.ok(id, answer);
            } catch (Throwable e) {
                driver.forget(this);
                driver.error(id, new Failure("failed", e.toString()), Driver.JSON.createObjectNode());
            }
        });
    }

    synchronized void run(long id, String op, JsonNode request) throws Failure {
        if (client == null || under != null) {
            throw new Failure("failed", client == null ? "the client is not open yet" : "an operation is under way");
        }
        Operation o = new Operation(id, op);
        under = o;
        thread.execute(() -> o.run(request));
    }

    private void call(String op, JsonNode request, ObjectNode answer, Operation o) throws Exception {
        switch (op) {
            case "acquire":
            case "enter":
                client.mode(request.path("mode").asText());
                Client.Done done = client.acquire(request.has("limit_ms") ? request.get("limit_ms").asLong() : null);
                o.at = done.at;
                addSession(answer);
                if (done.node != null) {
                    answer.put("node", done.node);
                }
                return;
            case "release":
            case "leave":
                client.release();
                return;
            case "put":
                client.put(request.path("item").asText().getBytes(StandardCharsets.UTF_8));
                return;
            case "take":
                answer.put("item", new String(client.take(), StandardCharsets.UTF_8));
                return;
            case "write":
                client.write(resource, request.path("value").asText().getBytes(StandardCharsets.UTF_8));
                return;
            default:
                throw new Failure("unsupported", "this driver has no " + op);
        }
    }

    private void addSession(ObjectNode answer) {
        Long session = client.session();
        if (session != null) {
            answer.put("session", session);
        }
    }

    /** A recipe that repeats its requests until it is connected again may not give up in time; its outcome is open then. */
    void cancel() {
        Operation o;
        synchronized (this) {
            o = under;
        }
        if (o != null) {
            o.cancel();
            daemon(() -> o.answerAfter(timeoutMs, "unknown", "the recipe does not give up"), "cancelling-" + number).start();
        } else if (client != null) {
            client.cancel(null);
        }
    }

    /** Ends the session on a thread of its own. An operation under way is given up, and answered first. */
    Thread close(Runnable then) {
        Operation o;
        synchronized (this) {
            closed = true;
            o = under;
        }
        Thread closing = daemon(() -> {
            try {
                if (o != null) {
                    o.end();
                }
                client.close();
            } catch (Throwable e) {
                e.printStackTrace(); // the session expires
            }
            thread.shutdownNow();
            then.run();
        }, "closing-" + number);
        closing.start();
        return closing;
    }

    synchronized void suspended() {
        if (connection == Connection.UP) {
            connection = Connection.SUSPENDED;
            event("suspended");
        }
    }

    synchronized void lost() {
        if (connection != Connection.LOST) {
            connection = Connection.LOST;
            event("lost");
        }
    }

    /** The connection is back. restores: the user takes that for the word that all is as it was; after lost it never is. */
    synchronized void reconnected(boolean restores) {
        boolean same = connection == Connection.SUSPENDED;
        connection = Connection.UP;
        if (same && restores) {
            event("restored");
        }
    }

    synchronized void event(String kind) {
        if (!closed) {
            driver.write(Driver.JSON.createObjectNode().put("event", kind).put("client", number).put("at", System.nanoTime()));
        }
    }

    /** One operation. It is answered once: by itself, or by the client's close. */
    private final class Operation {
        private static final int GIVING_UP_MS = 500;

        private final long id;
        private final String op;
        long at; // System.nanoTime when the recipe's call returned
        private Thread inside; // the recipe
        private boolean cancelled;
        private final CountDownLatch answered = new CountDownLatch(1);

        Operation(long id, String op) {
            this.id = id;
            this.op = op;
        }

        void run(JsonNode request) {
            ObjectNode times = Driver.JSON.createObjectNode();
            Failure failure = null;
            long called = System.nanoTime();
            try {
                enter();
                call(op, request, times, this);
            } catch (Throwable e) {
                failure = Failure.of(op, e);
            }
            times.put("called", called).put("at", at != 0 ? at : System.nanoTime());
            leave();
            answer(failure, times);
        }

        private synchronized void enter() throws Failure {
            if (cancelled) {
                throw new Failure("cancelled", "given up before it began");
            }
            inside = Thread.currentThread();
        }

        /** From here on nobody interrupts the thread, and an interrupt that came too late is forgotten. */
        private synchronized void leave() {
            inside = null;
            Thread.interrupted();
        }

        synchronized void cancel() {
            cancelled = true;
            if (inside != null) {
                client.cancel(inside);
            }
        }

        /** Gives up for a close. What was not answered may have been carried out. */
        void end() {
            cancel();
            answerAfter(GIVING_UP_MS, op.equals("acquire") || op.equals("enter") ? "cancelled" : "unknown", "the client was closed");
        }

        /** Answers if the recipe does not do so in time. */
        void answerAfter(int ms, String kind, String text) {
            try {
                answered.await(ms, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                // then now
            }
            answer(new Failure(kind, text), Driver.JSON.createObjectNode());
        }

        /** failure is null where there is none. */
        private void answer(Failure failure, ObjectNode what) {
            synchronized (Seat.this) {
                if (answered.getCount() == 0) {
                    return;
                }
                answered.countDown();
                under = null;
                if (failure == null) {
                    driver.ok(id, what);
                } else {
                    driver.error(id, failure, what);
                }
            }
        }
    }
}
