import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * ZooKeeper's own WriteLock, a new one for each acquire. unlock() and close() go together: a watch that fires between them
 * would stand in line again.
 */
final class WriteLockDriver extends PlainClient {
    private volatile WriteLock lock; // held or waited for, or null
    private volatile Word word; // what the acquire waits for

    private WriteLockDriver(Seat seat) throws Exception {
        super(seat);
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("lock", "ZooKeeper", "WriteLock", "predecessor",
                "acquire", "release", "write", "cancel", "holds").exclusive().fifo(), WriteLockDriver::new);
    }

    @Override
    Done acquire(Long limitMs) throws Exception {
        Word granted = new Word();
        word = granted;
        lock = new WriteLock(zooKeeper, seat.path, seat.acl(), new LockListener() {
            @Override
            public void lockAcquired() {
                granted.granted();
            }

            @Override
            public void lockReleased() {}
        });
        try {
            lock.lock();
            long at = granted.get();
            return new Done(lock.getId(), at);
        } catch (Exception e) {
            release();
            throw e;
        }
    }

    @Override
    void release() throws Exception {
        WriteLock ours = lock;
        if (ours == null) {
            throw new Failure("failed", "nothing is held");
        }
        lock = null;
        synchronized (ours) {
            try {
                ours.unlock();
            } finally {
                ours.close();
            }
        }
    }

    @Override
    boolean holds() {
        WriteLock ours = lock;
        return ours != null && ours.isOwner();
    }

    /** "This also removes your request in the queue for locking": the acquire unlocks, and answers. */
    @Override
    void cancel(Thread inside) {
        if (inside != null && word != null) {
            word.failed("cancelled", "given up");
        }
    }
}
