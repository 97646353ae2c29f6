package wire

import "time"

// Known is the servers' state as far as a client can know it.
type Known struct {
	Zxid int64 // the highest in any reply that has reached it; 0 before the first
	// Removed is the path of the deleted node of the latest such notification, and RemovedAt its
	// time. Before version 3.9 a notification has no zxid.
	Removed   string
	RemovedAt time.Duration
}

// Known returns the client's current knowledge.
func (c *client) Known() Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}
