package wire

import (
	"fmt"
	"time"
)

type Proof struct {
	Rule    Rule
	Client  int
	Op      Op
	Path    string
	Xid     int32         // of the request
	Session int64         // of the connection
	Matched time.Duration // when the client sent the request
	Done    time.Duration // when the act took effect

	Replied bool  // DropReply: the reply was seen and dropped
	Zxid    int64 // of the reply: the zxid of its transaction, or the latest known to the server
	Code    int32 // the reply's error code; 0 is success

	Err error // why the act could not be completed after the match, or nil
}

// Committed reports whether the server is known to have executed the request.
func (p Proof) Committed() bool { return p.Replied && p.Code == 0 }

// String returns the proof as text.
func (p Proof) String() string {
	s := fmt.Sprintf("%v hit %v", p.Rule, p.Op)
	if p.Path != "" {
		s += " " + p.Path
	}
	s += fmt.Sprintf(" xid %d of client %d at %v", p.Xid, p.Client, p.Matched)
	switch {
	case p.Err != nil:
		return s + fmt.Sprintf(", without effect: %v", p.Err)
	case p.Rule.Act == Delay:
		return s + fmt.Sprintf(", held it for %v", p.Done-p.Matched)
	case p.Replied && p.Code == 0:
		return s + fmt.Sprintf(", swallowed its success at zxid %#x", p.Zxid)
	case p.Replied:
		return s + fmt.Sprintf(", swallowed its error %d at zxid %#x", p.Code, p.Zxid)
	}
	return s
}
