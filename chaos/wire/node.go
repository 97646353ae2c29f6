package wire

import (
	"slices"
	"strings"
)

// Node is an ephemeral node of a client's session, from the reply to its create.
type Node struct {
	Path       string
	Czxid      int64
	Sequential bool
}

// Node returns the newest node below path, at any depth, that the client's session has created and not
// deleted. It knows only nodes that were created since Listen by a single create whose reply has reached
// the client. ok is false if there is no such node; if the session has nodes of several kinds (in several
// folders, or sequential and plain ones), any of which may be the claim's; and if the session may have
// created or deleted a node since, by a transaction or a request whose reply was lost.
func (c *client) Node(path string) (newest Node, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodesUncertain {
		return Node{}, false
	}
	for _, n := range slices.Backward(c.nodes) {
		switch below := strings.HasPrefix(n.Path, path+"/"); {
		case !below:
		case !ok:
			newest, ok = n, true
		case n.Sequential != newest.Sequential || parentOf(n.Path) != parentOf(newest.Path):
			return Node{}, false
		}
	}
	return newest, ok
}

func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

const (
	flagEphemeral = 1
	flagSequence  = 2
)

// noteNode records the effect of the request with that head on the session's nodes. The caller holds c.mu.
func (c *client) noteNode(s *pendingRequest, head []byte) {
	if c.listeners == nil {
		return
	}
	switch s.op {
	case Create, Create2:
		s.flags = createFlags(head)
	case Delete:
		path := pathIn(head, s.op)
		for _, n := range c.nodes {
			if n.Path == string(path) {
				s.removes = n.Czxid
			}
		}
	}
}

func (c *client) noteReply(s *pendingRequest, head []byte) {
	switch {
	case s.op == Multi:
		c.nodesUncertain = true
	case s.removes != 0:
		c.nodes = slices.DeleteFunc(c.nodes, func(n Node) bool { return n.Czxid == s.removes })
	case s.flags == flagEphemeral || s.flags == flagEphemeral|flagSequence:
		if path, whole := wholePath(head, 16); whole && path != "" { // after xid, zxid and error code
			c.nodes = append(c.nodes, Node{path, int64At(head, 4), s.flags&flagSequence != 0})
			c.nodesUncertain = false
		}
	}
}

func (c *client) noteLost(s *pendingRequest) {
	c.nodesUncertain = c.nodesUncertain || c.listeners != nil && (s.op == Multi || s.removes != 0 || s.flags&flagEphemeral != 0)
}

// createFlags returns the flags in a create's head (xid, opcode, path, data, ACL, flags); 0 if it is too short.
func createFlags(head []byte) int32 {
	r := reader{head[min(8, len(head)):]}
	r.bytes()
	r.bytes()
	for n := r.int32(); n > 0 && len(r.left) > 0; n-- {
		r.int32()
		r.bytes()
		r.bytes()
	}
	return r.int32()
}

type reader struct{ left []byte }

func (r *reader) int32() int32 {
	if len(r.left) < 4 {
		r.left = nil
		return 0
	}
	v := int32At(r.left, 0)
	r.left = r.left[4:]
	return v
}

func (r *reader) bytes() []byte {
	n := min(max(0, int(r.int32())), len(r.left))
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}
