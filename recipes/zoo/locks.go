package zoo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

var lockSpecimens = []struct {
	name, about string
	wrong       steps
}{
	// "We have a fencing token": a counter in each client, used with a lock that returns no number. Every client
	// begins at 1, so two holders can have the same number, and the resource cannot distinguish the old
	// holder from the new one.
	{"token-constant", "returns a fencing token that each client counts on its own, so that two grants can have the same token",
		steps{token: func(l *lockClient, _ int64) int64 { return l.count }}},

	// The time of day as a fencing token, common for locks in databases or Redis: if a clock is set back, or
	// another machine's clock is behind, a later holder has a lower token. Here each grant has a lower token
	// than the one before.
	{"token-descending", "returns as the fencing token the time of a clock that runs backwards",
		steps{token: func(_ *lockClient, czxid int64) int64 { return 1<<62 - czxid }}},

	// A transaction number has 64 bits: an epoch and a counter. Programs that store it in 32 bits keep only the
	// counter, which begins again with every leader.
	{"token-of-32-bits", "returns as the fencing token the lower half of the transaction number",
		steps{token: func(_ *lockClient, czxid int64) int64 { return int64(uint32(czxid)) }}},

	// ZooKeeper's LeaderElectionSupport, and kazoo's Election.run, do not notify their leader of the
	// loss of the session. It continues to lead, next to its successor.
	{"ignores-session-loss", "keeps the grant after its session has expired",
		steps{state: func(*lockClient, zk.State) {}, spansSessions: true}},

	// A zk.Conn of go-zookeeper silently spans sessions, and a request that was not sent before the old session
	// expired is sent in the next. A client that records the session before the call and believes that the grant
	// belongs to it monitors the wrong session: it is never notified of the end of the session that owns the node.
	{"next-session-grant", "claims its grant for the session in which it called acquire, although the next session created the node", steps{
		session: func(l *lockClient) int64 { return l.sessionAtAcquire }, spansSessions: true,
	}},

	// Like CURATOR-678: the state in memory is cleared before the delete, and a failed delete is not
	// retried. The lock is free for its owner, and held for all others until the session ends.
	{"unlock-local-only", "forgets the lock although the delete failed", steps{
		release: releaseOnce,
	}},

	// go-zookeeper's Lock (lock.go) returns errors after its create unchanged, and leaves the node: it
	// blocks all clients, including the caller's next try, until the session ends.
	{"cleanup-missing", "leaves its node in line when anything fails after the create", steps{
		list: func(ctx context.Context, l *lockClient) ([]string, error) {
			names, err := once(ctx, l.c.listing(l.env.Parent))
			return names, markReplyLost(err)
		},
		abandon: func(context.Context, *lockClient, string) {},
	}},

	// The Worker of a tutorial ported from PHP ("get all the child nodes of /cluster and sort them")
	// treats the first name of getChildren as the lowest and never sorts. The servers keep children in a hash
	// set, whose order is arbitrary and changes when a node is added.
	{"worker-unsorted", "assumes that getChildren returns the waiters in order", steps{
		order: func(names []string, ours string) (first bool, ahead string) {
			return len(names) > 0 && names[0] == ours, names[max(slices.Index(names, ours)-1, 0)]
		},
		wait: awaitParent,
	}},

	// The number that the servers append is an int32 in ten characters. Once the parent's counter has
	// wrapped it is negative (ZOOKEEPER-4372), and the order of texts is reversed: "-0000000002" comes before
	// "-0000000003", which is lower. kazoo sorted like this (#606).
	{"order-as-text", "compares the numbers as text, which reverses the order once they are negative", steps{
		order: func(names []string, ours string) (first bool, ahead string) {
			return ordered(names, ours, func(a, b string) bool { return suffix(a) < suffix(b) })
		},
	}},

	// ZooKeeper's WriteLock checks whether the node ahead exists, with a watch, and waits even if the node does
	// not exist. If the node is deleted between the list and the check, no notification comes.
	{"missed-wakeup", "waits for its predecessor although the servers replied that it no longer exists", steps{
		wait: func(ctx context.Context, l *lockClient, _, ahead string) (bool, error) {
			w, err := l.c.watchNode(ctx, l.env.Parent+"/"+ahead)
			if err == nil {
				err = w.wait(ctx)
			}
			return false, err
		},
	}},

	// "When you are notified, it is your turn": the recipe requires another list, which many implementations
	// omit. The node ahead may have been deleted because its owner died while it waited.
	{"watch-then-never-relist", "treats the removal of its predecessor as its grant, without listing the other waiters",
		steps{wait: awaitRemoval}},

	// The client assumes that the parent still exists, although servers remove empty containers and operators
	// delete nodes. kazoo remembers that it created the parent (assured_path, #563).
	{"path-assumed", "assumes that its parent exists, and never creates it", steps{assumesParent: true}},

	// "No number is lower than mine": a waiter that does not check that its own node is in the list is granted
	// after an operator has deleted the node. The predecessor lock of this project did so, to save a request.
	{"own-node-unchecked", "holds although its node was deleted while it waited: it only counts the nodes ahead", steps{
		create: func(ctx context.Context, l *lockClient) (string, error) {
			path, err := createOnce(ctx, l)
			if err != nil {
				return "", err
			}
			stat, err := l.c.stat(ctx, path)
			if stat != nil {
				l.czxid = stat.Czxid
			}
			return path, err
		},
		unchecked: true,
	}},

	// A lock without watches: it reads repeatedly. It is correct, and keeps every member busy while any client waits.
	{"spin-lock", "polls the children instead of watching", steps{
		wait: func(ctx context.Context, _ *lockClient, _, _ string) (bool, error) {
			select {
			case <-time.After(time.Millisecond):
				return false, nil
			case <-ctx.Done():
				return false, ctx.Err()
			}
		},
	}},

	// Before protected creates existed, locks repeated a create whose reply was lost, without a way to find the
	// node that it may have made (samuel/go-zookeeper #229). The node of the first try stays in line, ahead of
	// the second, until the session ends, and its owner waits behind it.
	{"create-reply-lost", "repeats a create whose reply was lost, and cannot find the first node again", steps{
		create: func(ctx context.Context, l *lockClient) (string, error) {
			return retry(ctx, l.c, func() (string, error) {
				return l.c.Create(l.env.Parent+"/"+l.steps.name(l.c, client.NewID()), nil, zk.FlagEphemeral|zk.FlagSequence, l.c.acl)
			})
		},
	}},

	// Before each acquire the lock creates an ephemeral node only to check whether it is connected, and
	// never deletes it (spring-integration #2557).
	{"leaks-probe", "creates a node for each acquire to test the connection, and never deletes it", steps{
		create: func(ctx context.Context, l *lockClient) (string, error) {
			if _, err := l.c.create(ctx, l.env.Parent+"/probe-", nil, zk.FlagEphemeral|zk.FlagSequence); err != nil {
				return "", err
			}
			return createOnce(ctx, l)
		},
		list: func(ctx context.Context, l *lockClient) ([]string, error) {
			names, err := l.c.list(ctx, l.env.Parent)
			return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "probe-") }), err
		},
	}},

	// ZooKeeper's own WriteLock puts the session ID into the name ("x-SESSION-NUMBER"), and its
	// ZNodeName compared the part before the number first (ZOOKEEPER-2931): a new client with a lower
	// session ID goes before the holder of the lock.
	{"order-by-prefix", "compares names first by the session id in them, then by the number", steps{
		name: func(c *conn, _ string) string { return fmt.Sprintf("x-%016x-", uint64(c.SessionID())) },
		order: func(names []string, ours string) (first bool, ahead string) {
			return ordered(names, ours, func(a, b string) bool {
				prefixA, numberA := split(a)
				prefixB, numberB := split(b)
				return cmp.Or(cmp.Compare(prefixA, prefixB), cmp.Compare(numberA, numberB)) < 0
			})
		},
	}},

	// Like CURATOR-498: a client that loses its connection opens a new session, finds the node of its last create by
	// the ID in its name, and adopts it. The node belongs to the old session, which is no longer kept alive. When the
	// old session expires, the node is deleted, and with it the grant that the client believes to hold.
	{"adopts-foreign-node", "adopts a node by the id in its name, although the node belongs to the client's previous session, which will expire", steps{
		create: func(ctx context.Context, l *lockClient) (string, error) {
			name := l.steps.name(l.c, client.NewID())
			path, err := l.create(ctx, name)
			if !isReplyLost(err) {
				return path, err
			}
			l.c.Close() // disconnected: the servers do not receive it
			if err := l.connect(ctx); err != nil {
				return "", err
			}
			names, err := l.c.list(ctx, l.env.Parent)
			if err != nil {
				return "", err
			}
			for _, n := range names {
				if strings.HasPrefix(n, name) {
					return l.env.Parent + "/" + n, nil
				}
			}
			return l.create(ctx, name)
		},
	}},

	// Two tutorials, on leader election and on a resource lock, assume that the node ahead has the client's own
	// number minus one. That is true until a waiter in the middle of the line leaves. A client that then
	// checks again at once (the resource lock, and step five of the recipe read literally) is in a busy loop;
	// a client that watches the missing node (the leader election) waits forever.
	{"predecessor-minus-one", "treats the node with its own number minus one as its predecessor, and polls if that node does not exist", steps{
		name: plainName, order: lessOne,
	}},
	{"predecessor-minus-one-waits", "watches the node with its own number minus one, whether or not that node exists", steps{
		name: plainName, order: lessOne,
		wait: func(ctx context.Context, l *lockClient, ours, ahead string) (bool, error) {
			// The watch on a missing node fires on its creation, which never comes.
			w, err := l.c.watchNode(ctx, l.env.Parent+"/"+ahead)
			if err != nil {
				return false, err
			}
			if names, err := l.steps.list(ctx, l); err == nil {
				if first, _ := byNumber(names, ours); first {
					return true, nil // the node ahead was deleted after the last list, an ordinary hand-off
				}
			}
			return false, w.wait(ctx)
		},
	}},
	// With a GUID in the names (the original resource lock) a name cannot be computed: the tutorial
	// looks up its number minus one in a map of the listed names, and checks the existence of the
	// node with the map's zero value as its name.
	{"predecessor-minus-one-guid", "looks for its own number minus one in its list, and polls the node \"null\" if that number is not in the list", steps{
		order: func(names []string, ours string) (first bool, ahead string) {
			first, _ = byNumber(names, ours)
			ahead = "null"
			for _, name := range names {
				if number(name) == number(ours)-1 {
					ahead = name
				}
			}
			return first, ahead
		},
	}},
}

func init() {
	for _, x := range lockSpecimens {
		registerLock(x.name, x.about, x.wrong)
	}

	// A lock that declares the cost of go-zookeeper's lock, one notified waiter per release, but lets all
	// waiters watch the parent: it is correct, but has the herd effect.
	goZooKeeper, err := recipes.Find("lock/go-zookeeper")
	if err != nil {
		panic(err)
	}
	herd := lockSubject("herd-lock", "watches the parent, but declares that it watches its predecessor", steps{wait: awaitParent})
	herd.Variant, herd.Formulas = goZooKeeper.Variant, goZooKeeper.Formulas
	recipes.Register(herd)

	// A lock with one ephemeral node that has a fixed name: the client that creates it holds. Its release
	// repeats a delete by name until that is answered, even in the next session, when the node may belong to
	// another client. DEL without a comparison is the same mistake in locks on Redis, against which
	// redis.io/docs (Distributed Locks) warns.
	byName := lockSubject("unlock-by-name", "deletes the lock's node by its name, even if the node belongs to another client by then", steps{
		create:        createFixedNode,
		list:          func(context.Context, *lockClient) ([]string, error) { return nil, nil },
		order:         alwaysFirst,
		spansSessions: true,
	})
	byName.Promises.FIFO = false // the first client that creates the node holds
	recipes.Register(byName)
}

// awaitRemoval treats the removal of the node ahead as a grant.
func awaitRemoval(ctx context.Context, l *lockClient, _, ahead string) (turn bool, err error) {
	w, err := l.c.watchNode(ctx, l.env.Parent+"/"+ahead)
	if err != nil || !w.found {
		return false, err
	}
	err = w.wait(ctx)
	return err == nil, err
}

// releaseOnce does not repeat a delete whose reply was lost.
func releaseOnce(ctx context.Context, l *lockClient, path string) error {
	return markReplyLost(l.c.delete(ctx, path))
}

func split(name string) (prefix, number string) {
	i := strings.LastIndexByte(name, '-')
	return name[:i], name[i+1:]
}

// plainName makes names that can be computed from their numbers.
func plainName(*conn, string) string { return "host" + marker }

func lessOne(names []string, ours string) (first bool, ahead string) {
	first, _ = byNumber(names, ours)
	return first, fmt.Sprintf("host%s%010d", marker, number(ours)-1)
}

func createFixedNode(ctx context.Context, l *lockClient) (string, error) {
	path := l.env.Parent + "/lock"
	for ctx.Err() == nil {
		_, err := l.c.create(context.WithoutCancel(ctx), path, nil, zk.FlagEphemeral)
		switch {
		case err == nil:
			return path, nil
		case isReplyLost(err):
			if err := l.c.await(ctx); err != nil {
				return "", err
			}
			continue
		case !errors.Is(err, zk.ErrNodeExists):
			return "", err
		}
		stat, err := l.c.stat(ctx, path)
		if err != nil {
			return "", err
		}
		if stat != nil && stat.EphemeralOwner == l.c.SessionID() {
			return path, nil // the reply to an earlier create was lost
		}
		if _, err := awaitNode(ctx, l, "", "lock"); err != nil {
			return "", err
		}
	}
	return "", ctx.Err()
}

func init() {
	// The ZkLeader of a tutorial clears its leader flag when it is disconnected, and sets it only when
	// the children of the parent change. After a short loss of the connection its node is still first
	// in line, all others wait behind it, and there is no leader.
	registerLock("zkleader-no-reentry", "steps down when the connection drops briefly, and never leads again", steps{
		wait: awaitParent,
		state: func(l *lockClient, s zk.State) {
			if s != zk.StateDisconnected && s != zk.StateExpired {
				return
			}
			l.mu.Lock()
			token := l.token
			l.token = 0
			l.mu.Unlock()
			if token != 0 {
				l.env.Events(recipes.Event{Kind: recipes.EventSuspended, Token: token})
			}
		},
	})

	// The original ZkLeader of the tutorial checks whether it leads whenever the parent's children change, even
	// as the leader. So it leads again after a short loss of the connection, but only once another node is
	// added or removed. Until then its node is first in line, and there is no leader.
	registerLock("zkleader-late-reentry", "resigns when the connection drops briefly, and leads again only when a candidate joins or leaves", steps{
		wait: awaitParent,
		state: func(l *lockClient, s zk.State) {
			l.mu.Lock()
			token, path := l.token, l.path
			l.mu.Unlock()
			switch {
			case token == 0:
			case s == zk.StateDisconnected:
				l.env.Events(recipes.Event{Kind: recipes.EventSuspended, Token: token})
				go l.reenter(token, path)
			case s == zk.StateExpired:
				l.drop()
				l.env.Events(recipes.Event{Kind: recipes.EventLost, Token: token})
			}
		},
	})
}

// reenter reports the grant as restored when the children change and the node at path is the lowest.
func (l *lockClient) reenter(token int64, path string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*l.env.Timeout)
	defer cancel()
	for first := true; ; first = false {
		w, err := l.c.watchChildren(ctx, l.env.Parent)
		if err != nil {
			return
		}
		leads, _ := l.steps.order(w.names, client.Base(path))
		l.mu.Lock()
		ours := l.token == token
		l.mu.Unlock()
		switch {
		case !ours:
			return
		case leads && !first:
			l.env.Events(recipes.Event{Kind: recipes.EventRestored, Token: token})
			return
		}
		if w.wait(ctx) != nil {
			return
		}
	}
}
