// Package txnlog reads ZooKeeper's transaction logs: the files version-2/log.* in which a server
// writes every transaction before it replies.
//
// They show the outcome of each request, even if its reply was lost. An entry has the session, the
// number of the request in the session (cxid), the position in the order of the whole ensemble (zxid),
// and the change.
//
// A [Reader] reads one member's log, which may lack transactions that the member received as a snapshot.
// [Merge] merges the logs of several members.
//
// The package reads the format of ZooKeeper 3.5 to 3.9 (FileTxnLog.java, zookeeper.jute).
package txnlog

import (
	"fmt"
	"time"
)

// Type is the type of a transaction, or of a part of a multi.
type Type int8

// The types of transactions. Requests with the same effect (create, create2, createContainer,
// createTTL; delete, deleteContainer) share a type.
const (
	Unknown      Type = iota
	Create            // Path, Ephemeral, Data
	Delete            // Path
	SetData           // Path, Data, Version
	SetACL            // Path, Version
	Check             // Path, Version; only as a part of a Multi
	Reconfig          // Path, Data, Version: of the node with the configuration
	Multi             // Parts
	OpenSession       // Timeout
	CloseSession      // Removed, Listed
	Error             // Err: the request failed and changed nothing
)

var typeNames = [...]string{
	Unknown: "unknown", Create: "create", Delete: "delete", SetData: "set-data", SetACL: "set-acl", Check: "check",
	Reconfig: "reconfig", Multi: "multi", OpenSession: "open-session", CloseSession: "close-session", Error: "error",
}

func (t Type) String() string {
	if t < 0 || int(t) >= len(typeNames) {
		return fmt.Sprintf("Type(%d)", int8(t))
	}
	return typeNames[t]
}

// MaxData is the length in bytes up to which an [Op] keeps a node's data.
const MaxData = 1024

// Op is a change, alone or as a part of a multi. Fields that its type does not list are zero.
type Op struct {
	Type      Type
	Path      string
	Ephemeral bool   // the node belongs to the entry's session
	Data      []byte // nil if it is longer than MaxData
	Size      int    // length of the data, in bytes
	Version   int32  // after the change; of a check, one above the checked version
	Err       int32  // ZooKeeper's error code, such as -101 for "no node"
}

// Entry is a transaction in a server's log.
type Entry struct {
	Zxid    int64     // epoch of the leader << 32 + count from 1
	Session int64     // the requesting session
	Cxid    int32     // the client's number of its request; 0 if a server made it: an expiry is a CloseSession with cxid 0
	Time    time.Time // on the leader's clock, in whole milliseconds

	// Op is the change. Its Err is set for an Error, and for a Multi that failed.
	Op

	Timeout time.Duration // negotiated
	Removed []string      // the session's ephemeral nodes, which it removed
	// Listed reports whether the server logged Removed. Servers before 3.6 do not: Removed is then
	// empty, and [Merge] adds the session's nodes.
	Listed bool
	// Parts are a multi's operations, in order. If the multi failed, all are of type Error, and the
	// operations that were only rolled back have Err 0.
	Parts []Op
}

// Ops returns the changes: the parts of a multi, or the only change.
func (e Entry) Ops() []Op {
	if e.Type == Multi {
		return e.Parts
	}
	return []Op{e.Op}
}

// epoch returns the epoch of a zxid, which increases with each new leader.
func epoch(zxid int64) int64 { return zxid >> 32 }
