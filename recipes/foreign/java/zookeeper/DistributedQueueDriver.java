import org.apache.zookeeper.recipes.queue.DistributedQueue;

/** ZooKeeper's own DistributedQueue. */
final class DistributedQueueDriver extends PlainClient {
    private final DistributedQueue queue;

    private DistributedQueueDriver(Seat seat) throws Exception {
        super(seat);
        queue = new DistributedQueue(zooKeeper, seat.path, seat.acl());
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("queue", "ZooKeeper", "DistributedQueue", "parent",
                "put", "take", "write", "cancel").fifo().delivery("exactly-once"), DistributedQueueDriver::new);
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
