import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** Curator's InterProcessReadWriteLock. A cancel interrupts the acquire, as with InterProcessMutex. */
final class CuratorRWLock extends CuratorClient {
    private final InterProcessReadWriteLock lock;
    private InterProcessMutex side; // of the last acquire

    private CuratorRWLock(Seat seat) throws Exception {
        super(seat);
        lock = new InterProcessReadWriteLock(curator, seat.path);
        side = lock.writeLock();
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("rwlock", "Curator", "InterProcessReadWriteLock", "predecessor",
                "acquire", "release", "limit", "write", "cancel", "holds").exclusive().fifo(), CuratorRWLock::new);
    }

    @Override
    void mode(String mode) throws Exception {
        switch (mode) {
            case "read":
                side = lock.readLock();
                return;
            case "write":
                side = lock.writeLock();
                return;
            default:
                throw new Failure("failed", "mode is \"" + mode + "\", and may be read or write");
        }
    }

    @Override
    Done acquire(Long limitMs) throws Exception {
        if (limitMs == null) {
            side.acquire();
        } else if (!side.acquire(limitMs, TimeUnit.MILLISECONDS)) {
            throw new Failure("timeout", "not acquired within " + limitMs + " ms");
        }
        return new Done(null); // the library keeps the path of the node to itself
    }

    @Override
    void release() throws Exception {
        try {
            side.release();
        } catch (IllegalMonitorStateException e) {
            throw new Failure("failed", e.getMessage());
        }
    }

    @Override
    boolean holds() {
        return side.isAcquiredInThisProcess();
    }
}
