//go:build !linux

package chaos

// probeNetwork says that networks can be cut on Linux only.
func probeNetwork() Abilities {
	_, err := openFilter(0, "")
	return Abilities{Namespaces: err, Filter: err, Delay: err}
}
