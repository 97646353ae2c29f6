package zoo

// The time of day as a fencing token, common for locks in databases or Redis: a clock that is set
// back, or another machine's that is behind, gives a later holder the lower token. Here each
// grant's clock is a second behind the last one's.
func init() {
	contestant("token-descending", "hands out times of a clock that goes back", steps{
		token: func(_ *line, czxid int64) int64 { return 1<<62 - czxid },
	})
}
