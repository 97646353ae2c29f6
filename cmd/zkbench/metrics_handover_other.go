//go:build !unix

package main

import "net"

// keepOpen does nothing: processes are not replaced on this system.
func keepOpen(net.Listener, string) error { return nil }

func ownFile(string) bool { return true }
