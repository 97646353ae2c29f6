// A zkbench driver for a lock in Java, with no dependency but the ZooKeeper client.
//
//     zkbench subject check -- java -cp /usr/share/java/zookeeper.jar Lock.java
//     zkbench run churn --subject lock/mine --exec 'lock/mine=java -cp /usr/share/java/zookeeper.jar Lock.java'

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import org.apache.zookeeper.*;
import org.apache.zookeeper.Watcher.Event.KeeperState;

public class Lock {
    static final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    static final ConcurrentMap<String, Client> clients = new ConcurrentHashMap<>();
    static final ExecutorService threads = Executors.newCachedThreadPool();
    static final Pattern FIELD = Pattern.compile("\"(\\w+)\":(?:\"((?:[^\"\\\\]|\\\\.)*)\"|(-?\\d+))");

    static synchronized void say(String line) { out.println(line); }

    static void ok(String id, String fields) { say("{\"id\":" + id + ",\"ok\":{" + fields + "}}"); }

    static void error(String id, String kind, Object text, String times) {
        String safe = String.valueOf(text).replaceAll("[^ -!#-\\[\\]-~]", " ");
        say("{\"id\":" + id + ",\"error\":{\"kind\":\"" + kind + "\",\"text\":\"" + safe + "\"" + times + "}}");
    }

    /**
     * One client: a session, and a lock on it. Your own lock, read-write lock, semaphore or barrier comes in place of acquire
     * and release; name its kind in the hello below, and its operations (enter and leave of a barrier).
     */
    static class Client implements Watcher {
        final String number, path;
        final int permits, parties; // of a semaphore, and of a barrier
        final CountDownLatch connected = new CountDownLatch(1);
        final ZooKeeper zk;
        volatile boolean suspended;
        volatile Future<?> operation;
        volatile String node;

        Client(Map<String, String> request) throws Exception {
            number = request.get("client");
            path = request.get("path");
            permits = Integer.parseInt(request.getOrDefault("permits", "1"));
            parties = Integer.parseInt(request.getOrDefault("parties", "1"));
            zk = new ZooKeeper(request.get("connect"), Integer.parseInt(request.get("session_timeout_ms")), this);
            if (!connected.await(15, TimeUnit.SECONDS)) {
                zk.close();
                throw new IOException("not connected within 15 s");
            }
        }

        public void process(WatchedEvent e) {
            if (e.getState() == KeeperState.SyncConnected && e.getType() == Event.EventType.None) {
                connected.countDown();
                if (suspended) event("restored");
                suspended = false;
            } else if (e.getState() == KeeperState.Disconnected) {
                suspended = true;
                event("suspended");
            } else if (e.getState() == KeeperState.Expired) {
                event("lost");
            }
        }

        void event(String kind) {
            say("{\"event\":\"" + kind + "\",\"client\":" + number + ",\"at\":" + System.nanoTime() + "}");
        }

        /** Acquires, or enters. mode is read or write of a read-write lock, null of other kinds. */
        String acquire(String mode) throws Exception {
            node = zk.create(path + "/n-", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL);
            String mine = node.substring(path.length() + 1);
            while (true) {
                String ahead = new TreeSet<>(zk.getChildren(path, false)).lower(mine);
                if (ahead == null) return "\"node\":\"" + node + "\",";
                CountDownLatch gone = new CountDownLatch(1);
                Watcher watcher = e -> gone.countDown();
                if (zk.exists(path + "/" + ahead, watcher) != null) gone.await();
                if (zk.getState() == ZooKeeper.States.CLOSED) throw new KeeperException.SessionExpiredException();
            }
        }

        String release() throws Exception {
            String held = node;
            node = null;
            zk.delete(held, -1);
            return "";
        }
    }

    static void operate(String id, Callable<String> call) {
        long called = System.nanoTime();
        String kind = null;
        Object result;
        try {
            result = call.call();
        } catch (KeeperException.SessionExpiredException e) {
            kind = "lost";
            result = e;
        } catch (Exception e) {
            kind = "unknown";
            result = e;
        }
        String times = "\"called\":" + called + ",\"at\":" + System.nanoTime();
        if (kind == null) ok(id, result + times);
        else error(id, kind, result, "," + times);
    }

    static void open(String id, Map<String, String> request) {
        try {
            Client c = new Client(request);
            clients.put(c.number, c);
            ok(id, "\"session\":" + c.zk.getSessionId());
        } catch (Exception e) {
            error(id, "failed", e, "");
        }
    }

    static void close(String id, Client c) {
        try {
            clients.remove(c.number);
            c.zk.close();                                      // an operation under way ends with this
            if (c.operation != null) c.operation.get(5, TimeUnit.SECONDS);
        } catch (Exception e) {
            System.err.println(e);
        }
        if (id != null) ok(id, "");
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            Map<String, String> request = new HashMap<>();
            for (Matcher m = FIELD.matcher(line); m.find(); ) request.put(m.group(1), m.group(2) != null ? m.group(2) : m.group(3));
            String id = request.get("id"), op = request.get("op");
            Client c = clients.get(request.getOrDefault("client", ""));
            if (op.equals("hello") && request.get("protocol").equals("1")) {
                ok(id, "\"protocol\":1,\"recipe\":\"lock\",\"about\":\"my lock\",\"variant\":\"predecessor\","
                        + "\"promises\":{\"exclusive\":true,\"fifo\":true},"
                        + "\"ops\":[\"acquire\",\"release\"],\"events\":true,\"max_clients\":100");
            } else if (op.equals("clock")) ok(id, "\"now\":" + System.nanoTime());
            else if (op.equals("open")) threads.submit(() -> open(id, request));
            else if (c == null && !op.equals("hello")) error(id, "failed", "the client is not open", "");
            else if (op.equals("close")) threads.submit(() -> close(id, c));
            else if (op.equals("acquire") || op.equals("enter")) c.operation = threads.submit(() -> operate(id, () -> c.acquire(request.get("mode"))));
            else if ((op.equals("release") || op.equals("leave")) && c.node == null) error(id, "failed", "nothing is held", "");
            else if (op.equals("release") || op.equals("leave")) c.operation = threads.submit(() -> operate(id, c::release));
            else error(id, "unsupported", op, "");
        }
        List<Future<?>> closing = new ArrayList<>();
        for (Client c : clients.values()) closing.add(threads.submit(() -> close(null, c)));
        for (Future<?> f : closing) f.get();
        System.exit(0);
    }
}
