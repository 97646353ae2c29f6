import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;

/**
 * Curator's LeaderSelector with autoRequeue: who has led stands in line again by itself. Its listener leads until it is
 * told to stop, or until the selector interrupts it; a leader whom nobody has asked yet waits for that.
 */
final class CuratorSelector extends CuratorClient {
    private LeaderSelector selector; // null: not in line
    private Term next; // won, and not handed out yet
    private Term held; // handed out

    private CuratorSelector(Seat seat) throws Exception {
        super(seat);
    }

    public static void main(String[] args) throws Exception {
        Driver.run(new Hello("election", "Curator", "LeaderSelector with autoRequeue", "predecessor",
                "acquire", "release", "write", "cancel", "holds").exclusive().fifo().requeues(), CuratorSelector::new);
    }

    @Override
    synchronized Done acquire(Long limitMs) throws Exception {
        long called = System.nanoTime();
        if (selector == null) {
            selector = new LeaderSelector(curator, seat.path, new Leader());
            selector.autoRequeue();
            selector.start();
        }
        try {
            while (next == null) {
                wait();
            }
        } catch (InterruptedException e) {
            leave();
            throw e;
        }
        held = next;
        next = null;
        return new Done(null, Math.max(called, held.began));
    }

    @Override
    synchronized void release() throws Exception {
        if (held == null) {
            throw new Failure("failed", "nothing is held");
        }
        held.over.countDown();
        held = null;
    }

    @Override
    synchronized boolean holds() {
        return selector != null && selector.hasLeadership();
    }

    @Override
    void cancel(Thread inside) {
        super.cancel(inside);
        if (inside == null) {
            leave();
        }
    }

    private synchronized void leave() {
        if (selector != null && held == null) {
            selector.close();
            selector = null;
        }
    }

    /** One term as the leader. */
    private static final class Term {
        final long began = System.nanoTime();
        final CountDownLatch over = new CountDownLatch(1);
    }

    /** Cancels the leadership when the connection is suspended or lost, as Curator recommends and its adapter does. */
    private final class Leader extends LeaderSelectorListenerAdapter {
        @Override
        public void takeLeadership(CuratorFramework c) throws InterruptedException {
            Term term = new Term();
            offer(term);
            try {
                term.over.await();
            } catch (InterruptedException e) {
                ended(term);
                throw e;
            }
        }
    }

    private synchronized void offer(Term term) {
        next = term;
        notifyAll();
    }

    /** Tells the user that the term is over, if it is theirs. */
    private synchronized void ended(Term term) {
        if (next == term) {
            next = null;
        }
        if (held == term) {
            seat.event("ended");
        }
    }
}
