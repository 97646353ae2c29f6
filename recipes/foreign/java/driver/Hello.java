import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;

/** What a driver says of itself: its recipe, what that promises, and the operations that it offers. */
final class Hello {
    private static final int MAX_CLIENTS = 200; // Curator has six threads a client

    private final ObjectNode answer = Driver.JSON.createObjectNode();
    private final ObjectNode promises = answer.putObject("promises");
    private final List<String> ops;

    Hello(String recipe, String library, String name, String variant, String... ops) {
        this.ops = Arrays.asList(ops);
        String about = library + " " + System.getProperty("library.version", "") + " " + name;
        answer.put("protocol", 1).put("recipe", recipe).put("about", about);
        if (variant != null) {
            answer.put("variant", variant);
        }
        answer.put("events", true).put("max_clients", MAX_CLIENTS);
        this.ops.forEach(answer.putArray("ops")::add);
        answer.withArray("ops").add("auth");
    }

    Hello exclusive() {
        promises.put("exclusive", true);
        return this;
    }

    Hello fifo() {
        promises.put("fifo", true);
        return this;
    }

    Hello delivery(String delivery) {
        promises.put("delivery", delivery);
        return this;
    }

    Hello requeues() {
        answer.put("requeues", true);
        return this;
    }

    ObjectNode answer() {
        return answer;
    }

    boolean can(String op) {
        return ops.contains(op);
    }
}
