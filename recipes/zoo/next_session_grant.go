package zoo

// One zk.Conn of go-zookeeper silently spans sessions, and a request that was not
// sent yet when the old one expired is sent in the next. Who notes the session
// before the call and believes that the grant belongs to it guards the wrong one:
// it never learns that the session that really owns the node is gone.
func init() {
	contestant("next-session-grant", "claims a grant for the session in which it called, though the next one made the node", steps{
		session: func(l *line) int64 { return l.began },
		spans:   true,
	})
}
