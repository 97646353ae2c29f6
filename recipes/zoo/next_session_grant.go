package zoo

// One zk.Conn of go-zookeeper silently spans sessions, and a request that was not sent before the
// old one expired is sent in the next. A client that records the session before the call and
// believes that the grant belongs to it guards the wrong one: it is never notified that the owner's
// session has ended.
func init() {
	contestant("next-session-grant", "claims a grant for the session in which it called, though the next one made the node", steps{
		session: func(l *line) int64 { return l.began },
		spans:   true,
	})
}
