//go:build !unix

package main

// ownFile reports whether the file belongs to this user, as far as this system tells.
func ownFile(string) bool { return true }
