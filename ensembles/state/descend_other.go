//go:build !linux

package state

import "net"

// Adopt does nothing: this system has no such thing.
func Adopt() error { return nil }

// Descendants returns nothing: this system does not tell.
func Descendants() []Process { return nil }

// FromHere reports that it cannot tell.
func FromHere(net.Conn) (ours, known bool) { return false, false }
