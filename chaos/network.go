package chaos

// Network cuts members' networks.
type Network struct{}
