import org.apache.zookeeper.recipes.leader.LeaderElectionSupport;
import org.apache.zookeeper.recipes.leader.LeaderElectionSupport.EventType;

/** ZooKeeper's own LeaderElectionSupport: started to stand, stopped to resign; a failure is answered with stop(), as its documentation asks. */
final class ElectionSupportDriver extends PlainClient {
    private volatile LeaderElectionSupport support; // started, or null
    private volatile Word word; // what the acquire waits for
    private volatile boolean failed;

    private ElectionSupportDriver(Seat seat) throws Exception {
        super(seat);
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("election", "ZooKeeper", "LeaderElectionSupport", "predecessor",
                "acquire", "release", "write", "cancel").exclusive().fifo(), ElectionSupportDriver::new);
    }

    @Override
    Done acquire(Long limitMs) throws Exception {
        Word elected = new Word();
        word = elected;
        LeaderElectionSupport ours = new LeaderElectionSupport();
        ours.setZooKeeper(zooKeeper);
        ours.setRootNodeName(seat.path);
        ours.setHostName("client-" + seat.number);
        ours.addListener(event -> heard(event, elected));
        support = ours;
        ours.start();
        try {
            return new Done(null, elected.get());
        } catch (Exception e) {
            support = null;
            ours.stop();
            throw e;
        }
    }

    private void heard(EventType event, Word elected) {
        switch (event) {
            case ELECTED_COMPLETE:
                elected.granted();
                return;
            case FAILED:
                failed = true;
                elected.failed("unknown", "the election failed, see its log");
                return;
            default:
        }
    }

    @Override
    void release() throws Exception {
        LeaderElectionSupport ours = support;
        if (ours == null) {
            throw new Failure("failed", "nothing is held");
        }
        support = null;
        failed = false;
        ours.stop();
        if (failed) {
            throw new Failure("unknown", "stop() failed, see its log");
        }
    }

    @Override
    void cancel(Thread inside) {
        if (inside != null && word != null) {
            word.failed("cancelled", "given up");
        }
    }
}
