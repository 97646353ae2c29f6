package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

type entry struct {
	s      *Session
	path   string // of the node, without its number
	id     string // the random ID at the start of its name
	parent string
	data   []byte
	acl    []zk.ACL // nil: the session's

	made bool // its node may exist

	// pending delivers the outcome of the last create. That create has no context: until it is
	// sent, it is unknown whether there will be a node to remove.
	pending chan created
	sent    *sentCreate // its record
}

type created struct {
	spot
	err error
}

type spot struct {
	node  string
	czxid int64
}

// enter creates an ephemeral sequential node under parent and lists the parent directly after it,
// both on the wire together: one round trip instead of two. names is nil if the list failed.
//
// The create is protected: the name begins with id, which is random, so that after a lost reply the
// node can be found again. A node is adopted only if its ephemeralOwner is this session. If enter
// fails, everything that it may have created is removed.
func enter(ctx context.Context, s *Session, parent, id, prefix string, data []byte) (at spot, names []string, err error) {
	e := &entry{s: s, parent: parent, id: id, path: parent + "/" + id + prefix, data: data}
	in := false
	defer func() {
		if !in && e.made {
			s.cleanUp(ctx, e.undo)
		}
	}()
	for again := true; again; {
		again = false
		at, names, err = e.createAndList(ctx)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			// The parent does not exist yet, or was deleted.
			err = s.MakePath(ctx, parent)
			again = err == nil
		case errors.Is(err, ErrConnectionLost):
			var found bool
			names = nil
			at, found, err = s.find(ctx, parent, id)
			again = !found && (err == nil || errors.Is(err, ErrConnectionLost))
		}
	}
	if err != nil {
		return spot{}, nil, fmt.Errorf("create a queue node at %s: %w", parent, err)
	}
	in = true
	return at, names, nil
}

// createAndList sends the create and, as soon as it is on the wire, the list. The servers answer
// one session's requests in order, so the list includes the new node.
//
// A create's reply comes over a connection that the servers have accepted for this session
// (Session.admit), so the node is its own; its zxid is the node's czxid.
func (e *entry) createAndList(ctx context.Context) (at spot, names []string, err error) {
	s := e.s
	sent, pending := s.expectCreate(e.path), make(chan created, 1)
	e.sent, e.pending, e.made = sent, pending, true
	forever := context.WithoutCancel(ctx)
	go func() {
		node, err := s.create(forever, e.path, e.data, zk.FlagEphemeral|zk.FlagSequence, e.acl)
		s.dropCreate(e.path)
		pending <- created{spot{node, sent.zxid}, err}
	}()
	select {
	case <-sent.written:
		names, _ = s.List(ctx, e.parent) // on an error the caller lists again
	case r := <-pending:
		return r.spot, nil, e.answered(r)
	case <-ctx.Done():
		return spot{}, nil, ctx.Err()
	}
	select {
	case r := <-pending:
		return r.spot, names, e.answered(r)
	case <-ctx.Done():
		return spot{}, nil, ctx.Err()
	}
}

func (e *entry) answered(r created) error {
	e.pending = nil
	e.made = r.err == nil || Indeterminate(r.err)
	return r.err
}

// undo removes regardless of the entry has created, or may have.
func (e *entry) undo(ctx context.Context) error {
	if e.pending != nil {
		// Until then the create might be sent after our requests here.
		select {
		case <-e.sent.written:
		case r := <-e.pending: // at the latest when the session ends
			if e.answered(r); !e.made {
				return nil
			}
		}
	}
	at, found, err := e.s.find(ctx, e.parent, e.id)
	if err != nil || !found {
		return err
	}
	return e.s.remove(ctx, at.node)
}

// find returns the node with our id whose owner is this session.
func (s *Session) find(ctx context.Context, parent, id string) (at spot, found bool, err error) {
	if err := s.barrier(ctx, parent+"/"+id); err != nil {
		return spot{}, false, err
	}
	names, err := s.List(ctx, parent)
	if errors.Is(err, zk.ErrNoNode) {
		return spot{}, false, nil
	}
	if err != nil {
		return spot{}, false, err
	}
	name, stat, err := client.OwnNode(names, id, s.ID(), func(name string) (*zk.Stat, error) {
		return s.Exists(ctx, parent+"/"+name)
	})
	if err != nil || stat == nil {
		return spot{}, false, err
	}
	return spot{parent + "/" + name, stat.Czxid}, true, nil
}
