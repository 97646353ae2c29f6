import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.ZooKeeper;

/** A client of a recipe of ZooKeeper's own: a ZooKeeper handle and its default watcher. */
abstract class PlainClient extends Client {
    final Seat seat;
    final ZooKeeper zooKeeper;
    private final CountDownLatch connected = new CountDownLatch(1);

    PlainClient(Seat seat) throws Exception {
        this.seat = seat;
        zooKeeper = new ZooKeeper(seat.connect, seat.timeoutMs, this::changed);
        seat.authenticate(zooKeeper::addAuthInfo);
        if (!connected.await(15, TimeUnit.SECONDS)) {
            zooKeeper.close();
            throw new IOException("no connection within 15 s");
        }
    }

    private void changed(WatchedEvent event) {
        switch (event.getState()) {
            case SyncConnected:
                connected.countDown();
                seat.reconnected(true);
                return;
            case Disconnected:
                seat.suspended();
                return;
            case Expired:
                seat.lost();
                return;
            default:
        }
    }

    @Override
    void write(String path, byte[] value) throws Exception {
        zooKeeper.setData(path, value, -1);
    }

    @Override
    Long session() {
        return zooKeeper.getSessionId();
    }

    @Override
    void close() throws Exception {
        zooKeeper.close();
    }

    /** What a listener of a recipe tells the acquire that waits for it: the time of the grant, or why there is none. */
    static final class Word extends CompletableFuture<Long> {
        void granted() {
            complete(System.nanoTime());
        }

        void failed(String kind, String text) {
            completeExceptionally(new Failure(kind, text));
        }
    }
}
