import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/** Curator's InterProcessMutex. A cancel interrupts the acquire: Curator then removes the node in the background. */
final class CuratorLock extends CuratorClient {
    private final Mutex mutex;

    private CuratorLock(Seat seat) throws Exception {
        super(seat);
        mutex = new Mutex(curator, seat.path);
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("lock", "Curator", "InterProcessMutex", "predecessor",
                "acquire", "release", "limit", "write", "cancel", "holds").exclusive().fifo(), CuratorLock::new);
    }

    @Override
    Done acquire(Long limitMs) throws Exception {
        if (limitMs == null) {
            mutex.acquire();
        } else if (!mutex.acquire(limitMs, TimeUnit.MILLISECONDS)) {
            throw new Failure("timeout", "not acquired within " + limitMs + " ms");
        }
        return new Done(mutex.getLockPath());
    }

    @Override
    void release() throws Exception {
        try {
            mutex.release();
        } catch (IllegalMonitorStateException e) {
            throw new Failure("failed", e.getMessage());
        }
    }

    @Override
    boolean holds() {
        return mutex.isAcquiredInThisProcess();
    }

    /** Curator keeps the path of the node to itself and to subclasses. */
    private static final class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework curator, String path) {
            super(curator, path);
        }

        @Override
        protected String getLockPath() {
            return super.getLockPath();
        }
    }
}
