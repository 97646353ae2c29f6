package zoo

// "We have a fencing token": a version counter in the client that takes the lock, as with a lock
// that returns no number of its own. Every client begins at 1, so two holders have the same number,
// and the resource cannot tell the old one from the new one.
func init() {
	contestant("token-constant", "hands out a version that each client counts for itself", steps{
		token: func(l *line, _ int64) int64 { return l.count },
	})
}
