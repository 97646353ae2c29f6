import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The subject protocol of zkbench (zkbench help drivers) for one recipe: requests come as lines of JSON on stdin, answers
 * and events leave on stdout. Each client has a thread of its own, on which its operations run one after another; the
 * thread that reads stdin never waits for a recipe.
 */
final class Driver {
    /** Makes a client of the recipe. It returns when the session stands. */
    interface Opener {
        Client open(Seat seat) throws Exception;
    }

    static final ObjectMapper JSON = new ObjectMapper();
    private static final long CLOSING_MS = 8000; // for all clients together, when stdin ends

    private final Hello hello;
    private final Opener opener;
    private final PrintStream out;
    private final Map<Integer, Seat> seats = new ConcurrentHashMap<>();

    private Driver(Hello hello, Opener opener) {
        this.hello = hello;
        this.opener = opener;
        out = System.out;
        System.setOut(System.err); // what a library prints must not get between the lines
    }

    /** Serves until stdin ends, then closes all sessions and exits with 0. */
    static void run(Hello hello, Opener opener) throws Exception {
        Driver driver = new Driver(hello, opener);
        driver.read();
        driver.closeAll();
        System.exit(0);
    }

    private void read() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode request = JSON.readTree(line);
            try {
                take(request, request.path("id").asLong());
            } catch (Failure e) {
                error(request.path("id").asLong(), e, JSON.createObjectNode());
            }
        }
    }

    private void take(JsonNode request, long id) throws Failure {
        String op = request.path("op").asText();
        switch (op) {
            case "hello":
                if (request.path("protocol").asInt() != 1) {
                    throw new Failure("unsupported", "this driver speaks protocol 1");
                }
                ok(id, hello.answer());
                return;
            case "clock":
                ok(id, JSON.createObjectNode().put("now", System.nanoTime()));
                return;
            case "open":
                int number = request.path("client").asInt();
                Seat opened = new Seat(this, number, request);
                if (seats.putIfAbsent(number, opened) != null) {
                    throw new Failure("failed", "client " + number + " is open");
                }
                opened.open(id, opener);
                return;
            default:
        }
        Seat seat = seats.get(request.path("client").asInt());
        if (!op.equals("close") && !hello.can(op)) {
            throw new Failure("unsupported", "this driver has no " + op);
        }
        if (seat == null || (seat.client == null && !op.equals("close"))) {
            throw new Failure("failed", "client " + request.path("client").asInt() + " is not open");
        }
        switch (op) {
            case "cancel":
                seat.cancel();
                ok(id, JSON.createObjectNode());
                return;
            case "holds":
                ok(id, JSON.createObjectNode().put("holds", seat.client.holds()));
                return;
            case "close":
                seats.remove(seat.number);
                seat.close(() -> ok(id, JSON.createObjectNode()));
                return;
            default:
                seat.run(id, op, request);
        }
    }

    private void closeAll() throws InterruptedException {
        List<Thread> closing = new ArrayList<>();
        for (Seat seat : seats.values()) {
            closing.add(seat.close(() -> { }));
        }
        long until = System.nanoTime() + CLOSING_MS * 1_000_000;
        for (Thread t : closing) {
            t.join(Math.max(1, (until - System.nanoTime()) / 1_000_000));
        }
    }

    void forget(Seat seat) {
        seats.remove(seat.number, seat);
    }

    void ok(long id, ObjectNode answer) {
        write(JSON.createObjectNode().put("id", id).set("ok", answer));
    }

    /** Answers with an error. what may have times already. */
    void error(long id, Failure e, ObjectNode what) {
        write(JSON.createObjectNode().put("id", id).set("error", what.put("kind", e.kind).put("text", e.getMessage())));
    }

    void write(JsonNode line) {
        synchronized (out) {
            out.append(line.toString()).append('\n').flush();
        }
    }
}
