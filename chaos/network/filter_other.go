//go:build !linux

package network

import (
	"fmt"
	"runtime"
)

type filter struct{}

func openFilter(int) (*filter, error) {
	return nil, fmt.Errorf("%w: cutting a member's network needs Linux, but this is %s", ErrSkipped, runtime.GOOS)
}

func (*filter) do(order) answer { return answer{Err: ErrSkipped.Error(), Skipped: true} }
func (*filter) close() error    { return ErrSkipped }

func inode(string) (string, error) { return "", ErrSkipped }

func probeInNamespace() Abilities {
	_, err := openFilter(0)
	return noNetworks(err)
}
