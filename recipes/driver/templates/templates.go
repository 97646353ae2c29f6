// Package templates contains drivers that users copy as a start for their own.
package templates

import _ "embed"

// Python is a driver of a lock in Python, with kazoo; Java is one in Java, with the plain ZooKeeper client.
var (
	//go:embed lock.py
	Python string
	//go:embed Lock.java
	Java string
)
