import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.AuthInfo;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.ACL;

/** A client of a Curator recipe: a CuratorFramework with the retry policy and the connection listener of Curator's guide. */
abstract class CuratorClient extends Client {
    final Seat seat;
    final CuratorFramework curator;

    CuratorClient(Seat seat) throws Exception {
        this.seat = seat;
        List<AuthInfo> auth = new ArrayList<>();
        seat.authenticate((scheme, with) -> auth.add(new AuthInfo(scheme, with)));
        List<ACL> acl = seat.acl();
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder();
        if (!auth.isEmpty()) {
            builder.authorization(auth);
        }
        if (acl != null) {
            builder.aclProvider(new Owned(acl));
        }
        curator = builder
                .connectString(seat.connect)
                .sessionTimeoutMs(seat.timeoutMs)
                .connectionTimeoutMs(Math.min(seat.timeoutMs, 15000)) // Curator warns of one that is longer than the session's
                .retryPolicy(new ExponentialBackoffRetry(1000, 3))
                .ensembleTracker(false) // it would learn the members' own addresses, and go past zkbench's
                .build();
        curator.getConnectionStateListenable().addListener((c, state) -> changed(state));
        curator.start();
        if (!curator.blockUntilConnected(15, TimeUnit.SECONDS)) {
            curator.close();
            throw new IOException("no connection within 15 s");
        }
    }

    /** Creates every node with the same list. */
    private static final class Owned implements ACLProvider {
        private final List<ACL> acl;

        Owned(List<ACL> acl) {
            this.acl = acl;
        }

        @Override
        public List<ACL> getDefaultAcl() {
            return acl;
        }

        @Override
        public List<ACL> getAclForPath(String path) {
            return acl;
        }
    }

    /** Tells what Curator's listener tells: "If SUSPENDED is reported you cannot be certain that you still hold the lock". */
    void changed(ConnectionState state) {
        switch (state) {
            case SUSPENDED:
                seat.suspended();
                return;
            case RECONNECTED:
                seat.reconnected(true);
                return;
            case LOST:
                seat.lost();
                return;
            default:
        }
    }

    @Override
    void write(String path, byte[] value) throws Exception {
        curator.getZookeeperClient().getZooKeeper().setData(path, value, -1); // Curator's own would repeat it
    }

    /** Without a connection Curator's handle would be checked for its age, and perhaps renewed. */
    @Override
    Long session() {
        try {
            return curator.getZookeeperClient().isConnected() ? curator.getZookeeperClient().getZooKeeper().getSessionId() : null;
        } catch (Exception e) {
            return null;
        }
    }

    @Override
    void close() {
        curator.close();
    }
}
