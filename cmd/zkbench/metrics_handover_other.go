//go:build !unix

package main

import "net"

// keepOpen does nothing: no process is replaced here.
func keepOpen(net.Listener, string) error { return nil }
