import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.state.ConnectionState;

/** Curator's LeaderLatch: a latch for each term, closed to resign, with the listener that its documentation asks for. */
final class CuratorLatch extends CuratorClient implements LeaderLatchListener {
    private volatile LeaderLatch latch; // of this term, or null
    private volatile String node; // with which we lead, or null

    private CuratorLatch(Seat seat) throws Exception {
        super(seat);
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("election", "Curator", "LeaderLatch", "predecessor",
                "acquire", "release", "limit", "write", "cancel", "holds").exclusive().fifo(), CuratorLatch::new);
    }

    @Override
    Done acquire(Long limitMs) throws Exception {
        LeaderLatch ours = new LeaderLatch(curator, seat.path);
        ours.addListener(this);
        latch = ours;
        ours.start();
        try {
            if (limitMs == null) {
                ours.await();
            } else if (!ours.await(limitMs, TimeUnit.MILLISECONDS)) {
                throw new Failure("timeout", "not elected within " + limitMs + " ms");
            }
        } catch (Exception e) {
            latch = null;
            ours.close();
            throw e;
        }
        node = ours.getLastPathIsLeader();
        return new Done(node);
    }

    @Override
    void release() throws Exception {
        LeaderLatch ours = latch;
        if (ours == null) {
            throw new Failure("failed", "nothing is held");
        }
        node = null;
        latch = null;
        ours.close();
    }

    @Override
    boolean holds() {
        LeaderLatch ours = latch;
        return ours != null && ours.hasLeadership();
    }

    /** A leader leads again when its latch says so, not when the connection is back. */
    @Override
    void changed(ConnectionState state) {
        if (state == ConnectionState.RECONNECTED) {
            seat.reconnected(node == null);
        } else {
            super.changed(state);
        }
    }

    @Override
    public void notLeader() {
        if (node != null) {
            seat.suspended();
        }
    }

    /** To lead again with the same node is the same term to the user, whatever came between; with another it is not. */
    @Override
    public void isLeader() {
        String ours = node;
        LeaderLatch current = latch;
        if (ours != null && current != null) {
            seat.event(ours.equals(current.getLastPathIsLeader()) ? "restored" : "ended");
        }
    }
}
