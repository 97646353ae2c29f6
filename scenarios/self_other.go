//go:build !unix

package scenarios

// ownCPU is not known here.
func ownCPU() (seconds float64, ok bool) { return 0, false }
