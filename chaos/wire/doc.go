// Package wire understands ZooKeeper's frames and sits on every client connection.
package wire

// Client is the tap on one client's connections.
type Client struct{}
