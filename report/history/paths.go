package history

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
)

// PathNode returns the node on which the clients of one of several paths contend, below the trial's node line.
func PathNode(line string, i int) string { return path.Join(line, fmt.Sprintf("path-%04d", i)) }

var pathNode = regexp.MustCompile(`/line/path-(\d{4,9})(?:/|$)`)

// PathOf returns the path of a client: of several paths, client i uses path i modulo their number.
func (h Header) PathOf(client int) int { return max(client, 0) % max(h.Paths, 1) }

// OnPath returns how many of the first n clients use the path.
func (h Header) OnPath(i, n int) int {
	paths := max(h.Paths, 1)
	return (n - i + paths - 1) / paths
}

// Part returns the data about one path that is known before the first record, such as its faults. A [PathSplit] selects
// the records of a path.
func (h *History) Part(i int) *History {
	part, s := *h, NewPathSplit(h.Header)
	part.Header.Clients, part.Header.Paths = h.Header.OnPath(i, h.Header.Clients), 0
	part.Faults = slices.DeleteFunc(slices.Clone(h.Faults), func(f Fault) bool { k := s.PathOf(f.Window); return k >= 0 && k != i })
	return &part
}

// PathSplit assigns the records of a trial to its paths.
type PathSplit struct {
	header   Header
	sessions map[int64]int // path by session
}

// NewPathSplit returns a PathSplit for the records of one history, before the first.
func NewPathSplit(h Header) *PathSplit { return &PathSplit{h, map[int64]int{}} }

// PathOf returns the path to which the next record belongs, or -1 if it concerns all paths, such as a fault of a member
// and a fault that may affect other clients, too. A commit belongs to the path of its node, or else to that of its session.
func (s *PathSplit) PathOf(r Record) int {
	client := -1
	switch r := r.(type) {
	case *Commit:
		i := s.ofNode(r.Path)
		if own, known := s.sessions[r.Session]; i < 0 && known {
			return own
		}
		return i
	case *Snapshot:
		return s.ofNode(r.Path)
	case *Sample:
		client = r.Client
	default:
		if c := reflect.ValueOf(r).Elem().FieldByName("Client"); c.IsValid() {
			client = int(c.Int())
		}
	}
	if w, ok := r.(*Window); client < 0 || ok && len(w.Served) > 0 {
		return -1
	}
	if e, ok := r.(*Session); ok && e.Event == Opened {
		s.sessions[e.Session] = s.header.PathOf(client)
	}
	return s.header.PathOf(client)
}

// ofNode returns the path that the node belongs to, or -1.
func (s *PathSplit) ofNode(node string) int {
	if m := pathNode.FindStringSubmatch(node); m != nil {
		if i, _ := strconv.Atoi(m[1]); i < s.header.Paths { // up to nine digits
			return i
		}
	}
	return -1
}
