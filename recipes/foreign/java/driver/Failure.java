import org.apache.zookeeper.KeeperException;

/** An answer that is an error: its kind says what may have happened. */
final class Failure extends Exception {
    final String kind;

    Failure(String kind, String text) {
        super(text);
        this.kind = kind;
    }

    /**
     * Says what an exception of an operation means. When in doubt the outcome is unknown. An interrupt gives up what waits,
     * an acquire, an enter or a take; another request may have been carried out.
     */
    static Failure of(String op, Throwable e) {
        for (Throwable t = e; t != null; t = t.getCause()) {
            if (t instanceof Failure) {
                return (Failure) t;
            }
            if (t instanceof InterruptedException) {
                return new Failure(op.equals("acquire") || op.equals("enter") || op.equals("take") ? "cancelled" : "unknown", "interrupted");
            }
            if (t instanceof KeeperException.SessionExpiredException) {
                return new Failure("lost", t.toString());
            }
        }
        return new Failure("unknown", e.toString());
    }

    /**
     * Says what an exception of a queue's take means: nothing was taken, unless it comes from a delete, which may have been
     * carried out.
     */
    static Failure ofTake(Exception e) {
        Failure f = of("take", e);
        if (within(e, "delete")) {
            return f.kind.equals("lost") ? f : new Failure("unknown", e + " in delete");
        }
        return f.kind.equals("unknown") ? new Failure("failed", f.getMessage()) : f;
    }

    /** Says whether an exception comes from this request of ZooKeeper's, or from Curator's loop around it. */
    private static boolean within(Throwable e, String request) {
        for (StackTraceElement frame : e.getStackTrace()) {
            if (frame.getMethodName().equals(request) || frame.getClassName().toLowerCase().contains("." + request + "builder")) {
                return true;
            }
        }
        return false;
    }
}
