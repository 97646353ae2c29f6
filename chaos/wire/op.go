package wire

import (
	"slices"
	"strconv"
)

// Op is an opcode of ZooKeeper's protocol, or a special value: Any, AnyChange, AnyRead or Notified.
type Op int32

// Opcodes (org.apache.zookeeper.ZooDefs.OpCode, 3.9). In a [Rule], Any represents all of them,
// AnyChange for requests that change nodes, and AnyRead for requests that read a node or its children.
const (
	Any             Op = 0
	AnyChange       Op = -1 << 16
	AnyRead         Op = -2 << 16
	Create          Op = 1
	Delete          Op = 2
	Exists          Op = 3
	GetData         Op = 4
	SetData         Op = 5
	GetChildren     Op = 8
	Sync            Op = 9
	Ping            Op = 11
	GetChildren2    Op = 12
	Check           Op = 13
	Multi           Op = 14
	Create2         Op = 15
	CreateContainer Op = 19
	DeleteContainer Op = 20
	CreateTTL       Op = 21
	Auth            Op = 100
	SetWatches      Op = 101
	SASL            Op = 102
	SetWatches2     Op = 105
	AddWatch        Op = 106
	WhoAmI          Op = 107
	CloseSession    Op = -11
	// Notified is not an opcode: in a [Rule] and a [Frame] it represents a notification.
	Notified Op = -1
)

// opcodes lists the opcodes that are counted by name, also those without a constant. The first counts all others.
var opcodes = [...]struct {
	op   Op
	name string
	path int // offset of the path's length in the head; 0: no path
}{
	{Any, "other", 0},
	{Create, "create", 8}, {Delete, "delete", 8}, {Exists, "exists", 8},
	{GetData, "getData", 8}, {SetData, "setData", 8}, {6, "getACL", 8}, {7, "setACL", 8},
	{GetChildren, "getChildren", 8}, {Sync, "sync", 8}, {Ping, "ping", 0}, {GetChildren2, "getChildren2", 8},
	{Check, "check", 8}, {Multi, "multi", multiPathOffset}, {Create2, "create2", 8}, {16, "reconfig", 0},
	{17, "checkWatches", 8}, {18, "removeWatches", 8},
	{CreateContainer, "createContainer", 8}, {DeleteContainer, "deleteContainer", 8}, {CreateTTL, "createTTL", 8},
	{22, "multiRead", multiPathOffset}, {Auth, "auth", 0}, {SetWatches, "setWatches", 0}, {SASL, "sasl", 0},
	{103, "getEphemerals", 8}, {104, "countChildren", 8}, {SetWatches2, "setWatches2", 0},
	{AddWatch, "addWatch", 8}, {WhoAmI, "whoAmI", 0}, {CloseSession, "closeSession", 0},
}

// multiPathOffset is the offset of the path of a multi's first operation: after xid, opcode and
// MultiHeader (type int32, done bool, err int32).
const multiPathOffset = 8 + 9

const (
	lowestOp  = CloseSession
	highestOp = WhoAmI
)

var slots = func() (t [highestOp - lowestOp + 1]uint8) {
	for i, k := range opcodes {
		t[k.op-lowestOp] = uint8(i)
	}
	return t
}()

func (o Op) slot() int {
	if o < lowestOp || o > highestOp {
		return 0
	}
	return int(slots[o-lowestOp])
}

// String returns the opcode's name as in ZooKeeper's documentation, or "op 42" for an unknown one.
func (o Op) String() string {
	switch s := o.slot(); {
	case o == Any:
		return "any"
	case o == AnyChange:
		return "change"
	case o == AnyRead:
		return "read"
	case o == Notified:
		return "notification"
	case s == 0:
		return "op " + strconv.Itoa(int(o))
	default:
		return opcodes[s].name
	}
}

func (o Op) Changes() bool {
	return slices.Contains([]Op{Create, Create2, CreateContainer, CreateTTL, Delete, DeleteContainer, SetData, Multi}, o)
}

// hasStat reports whether the reply to the request ends with a Stat.
func (o Op) hasStat() bool { return o == Exists || o == GetData || o == GetChildren2 }

func (o Op) reads() bool { return o.hasStat() || o == GetChildren }

func (o Op) covers(op Op) bool {
	return o == op || o == Any && op != Notified || o == AnyChange && op.Changes() || o == AnyRead && op.reads()
}

// Ops returns AnyChange, AnyRead, Any and all opcodes that have a name. It does not return Notified.
func Ops() []Op {
	all := []Op{AnyChange, AnyRead}
	for _, o := range opcodes {
		all = append(all, o.op)
	}
	return all
}
