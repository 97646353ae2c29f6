//go:build !unix

package scenarios

// ownCPU returns false: the processor time is not available on this system.
func ownCPU() (seconds float64, ok bool) { return 0, false }

func openFiles() (most int, ok bool) { return 0, false }
