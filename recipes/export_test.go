package recipes

// EnsembleServers returns the addresses of the ensemble of this package's tests.
func EnsembleServers() []string { return servers }
