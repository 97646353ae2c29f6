/**
 * One client: a session and the recipe on it. A recipe implements the operations that it offers, and throws what its
 * library throws. All but cancel, holds and close run on the client's own thread.
 */
abstract class Client {
    /** Sets how the next acquire of a read-write lock holds: read or write. */
    void mode(String mode) throws Exception {
    }

    /** Returns when the lock is held or the election won; limitMs is null where there is no limit. */
    Done acquire(Long limitMs) throws Exception {
        throw new UnsupportedOperationException();
    }

    void release() throws Exception {
        throw new UnsupportedOperationException();
    }

    void put(byte[] item) throws Exception {
        throw new UnsupportedOperationException();
    }

    byte[] take() throws Exception {
        throw new UnsupportedOperationException();
    }

    boolean holds() {
        throw new UnsupportedOperationException();
    }

    /** Writes to a znode on this session, once. */
    abstract void write(String path, byte[] value) throws Exception;

    /** Gives up the operation that runs on that thread; null: there is none, and the client leaves the line if it stands in it. */
    void cancel(Thread inside) {
        if (inside != null) {
            inside.interrupt();
        }
    }

    abstract void close() throws Exception;

    /** Returns the id of the session, or null where it is not known without asking. */
    abstract Long session();

    /** What an acquire has brought. */
    static final class Done {
        final String node; // its path, or null
        final long at; // System.nanoTime when the user learned of it

        Done(String node, long at) {
            this.node = node;
            this.at = at;
        }

        Done(String node) {
            this(node, System.nanoTime());
        }
    }
}
