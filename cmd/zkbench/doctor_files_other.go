//go:build !unix

package main

// openFiles is of no concern where there is no such limit.
func openFiles() finding {
	return finding{what: "open files", result: findingOK, seen: "no limit is known"}
}
