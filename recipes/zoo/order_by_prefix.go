package zoo

import (
	"fmt"
	"strings"
)

// ZooKeeper's own WriteLock puts the session ID into the name ("x-SESSION-NUMBER"), and its
// ZNodeName compared the part before the number first (ZOOKEEPER-2931): a new client with a lower
// session ID goes before the holder of the lock.
func init() {
	contestant("order-by-prefix", "compares names by the session id in them before the number", steps{
		name: func(c *conn, _ string) string { return fmt.Sprintf("x-%016x-", uint64(c.SessionID())) },
		order: func(names []string, ours string) (first bool, ahead string) {
			return ordered(names, ours, func(a, b string) bool {
				prefixA, numberA := split(a)
				prefixB, numberB := split(b)
				if prefixA != prefixB {
					return prefixA < prefixB
				}
				return numberA < numberB
			})
		},
	})
}

func split(name string) (prefix, number string) {
	i := strings.LastIndexByte(name, '-')
	return name[:i], name[i+1:]
}
