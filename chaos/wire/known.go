package wire

import "time"

// Known is what a client can know of the servers' state: it acts on nothing newer.
type Known struct {
	Zxid int64 // the highest in any reply that has reached it; 0 before the first
	// Removed is the path of the node of whose removal it was notified last, and
	// RemovedAt when. Before version 3.9 a notification has no zxid.
	Removed   string
	RemovedAt time.Duration
}

// Known returns what the client can know now.
func (c *client) Known() Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}
