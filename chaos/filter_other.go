//go:build !linux

package chaos

import (
	"fmt"
	"runtime"
	"time"
)

type filter struct{}

func openFilter(int, string) (*filter, error) {
	return nil, fmt.Errorf("%w: cutting a member's network needs Linux, but this is %s", ErrSkipped, runtime.GOOS)
}

func (*filter) cut(packetRule) (int, error) { return 0, ErrSkipped }
func (*filter) heal(int) error              { return ErrSkipped }
func (*filter) dropped(int) (uint64, error) { return 0, ErrSkipped }
func (*filter) close() error                { return ErrSkipped }
func (*filter) owners() ([]string, error)   { return nil, ErrSkipped }
func (*filter) sweep(string) (int, error)   { return 0, ErrSkipped }

func (*filter) delay(time.Duration, time.Duration) error { return ErrSkipped }
func (*filter) removeDelay() error                       { return ErrSkipped }

func inode(string) (string, error) { return "", ErrSkipped }

func probeNetwork() Abilities {
	_, err := openFilter(0, "")
	return noNetworks(err)
}
