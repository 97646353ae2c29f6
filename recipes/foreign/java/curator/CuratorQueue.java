import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;

/** Curator's SimpleDistributedQueue. Its requests are repeated after a lost reply, so an item may vanish or come twice. */
final class CuratorQueue extends CuratorClient {
    private final SimpleDistributedQueue queue;

    private CuratorQueue(Seat seat) throws Exception {
        super(seat);
        queue = new SimpleDistributedQueue(curator, seat.path);
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("queue", "Curator", "SimpleDistributedQueue", "parent",
                "put", "take", "write", "cancel").fifo().delivery("at-most-once"), CuratorQueue::new);
    }

    @Override
    void put(byte[] item) throws Exception {
        queue.offer(item);
    }

    @Override
    byte[] take() throws Exception {
        try {
            return queue.take();
        } catch (Exception e) {
            throw Failure.ofTake(e);
        }
    }
}
