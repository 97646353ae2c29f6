import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** Curator's InterProcessSemaphoreV2. A cancel interrupts the acquire. */
final class CuratorSemaphore extends CuratorClient {
    private final InterProcessSemaphoreV2 semaphore;
    private volatile Lease lease; // null while none is held

    private CuratorSemaphore(Seat seat) throws Exception {
        super(seat);
        semaphore = new InterProcessSemaphoreV2(curator, seat.path, seat.permits);
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("semaphore", "Curator", "InterProcessSemaphoreV2", null,
                "acquire", "release", "limit", "write", "cancel").exclusive().fifo(), CuratorSemaphore::new);
    }

    @Override
    Done acquire(Long limitMs) throws Exception {
        if (limitMs == null) {
            lease = semaphore.acquire();
        } else {
            lease = semaphore.acquire(limitMs, TimeUnit.MILLISECONDS);
            if (lease == null) {
                throw new Failure("timeout", "not acquired within " + limitMs + " ms");
            }
        }
        return new Done(seat.path + "/leases/" + lease.getNodeName());
    }

    @Override
    void release() throws Exception {
        Lease held = lease;
        if (held == null) {
            throw new Failure("failed", "nothing is held");
        }
        lease = null;
        semaphore.returnLease(held);
    }
}
