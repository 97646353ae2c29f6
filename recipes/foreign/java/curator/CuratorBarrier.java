import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;

/** Curator's DistributedDoubleBarrier: a new one for each generation. A cancel interrupts the enter. */
final class CuratorBarrier extends CuratorClient {
    private DistributedDoubleBarrier barrier; // null outside

    private CuratorBarrier(Seat seat) throws Exception {
        super(seat);
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("barrier", "Curator", "DistributedDoubleBarrier", null,
                "enter", "leave", "limit", "write").exclusive(), CuratorBarrier::new);
    }

    @Override
    Done acquire(Long limitMs) throws Exception {
        DistributedDoubleBarrier entering = new DistributedDoubleBarrier(curator, seat.path, seat.parties);
        if (limitMs == null) {
            entering.enter();
        } else if (!entering.enter(limitMs, TimeUnit.MILLISECONDS)) {
            throw new Failure("timeout", "not all entered within " + limitMs + " ms");
        }
        barrier = entering;
        return new Done(null); // the node's name is the barrier's own
    }

    @Override
    void release() throws Exception {
        DistributedDoubleBarrier leaving = barrier;
        if (leaving == null) {
            throw new Failure("failed", "the client is not inside");
        }
        barrier = null;
        leaving.leave();
    }
}
