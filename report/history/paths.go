package history

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
)

// PathNode returns the node on which the clients of one of several paths contend, below the trial's node line.
func PathNode(line string, i int) string { return path.Join(line, fmt.Sprintf("path-%04d", i)) }

// inPath matches the node of a path, as PathNode names it, in the path of a node below it.
var inPath = regexp.MustCompile(`/line/path-(\d{4,9})(?:/|$)`)

// PathOf returns the path of a client: of several paths, client i uses path i modulo their number.
func (h Header) PathOf(client int) int { return client % max(h.Paths, 1) }

// OnPath returns how many of the first n clients use the path.
func (h Header) OnPath(i, n int) int {
	paths := max(h.Paths, 1)
	return (n - i + paths - 1) / paths
}

// Part returns the data about one path that is known before the first record: its clients and its faults. The caller
// selects the records with a [PathSplit].
func (h *History) Part(i int) *History {
	part := *h
	part.Header.Clients, part.Header.Paths = h.Header.OnPath(i, h.Header.Clients), 1
	s := NewPathSplit(h.Header)
	other := func(r Record) bool { k := s.PathOf(r); return k >= 0 && k != i }
	part.Faults = slices.DeleteFunc(slices.Clone(h.Faults), func(f Fault) bool { return other(f.Window) })
	part.Lost = slices.DeleteFunc(slices.Clone(h.Lost), func(r *LostReply) bool { return other(r) })
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
		if i := s.ofNode(r.Path); i >= 0 {
			return i
		}
		if i, known := s.sessions[r.Session]; known {
			return i
		}
	case *Snapshot:
		return s.ofNode(r.Path)
	case *Session:
		if client = r.Client; client >= 0 && r.Event == Opened {
			s.sessions[r.Session] = s.header.PathOf(client)
		}
	case *Window:
		if len(r.Served) == 0 {
			client = r.Client
		}
	case *Sample:
		client = r.Client
	case *Waiting:
		client = r.Client
	case *Effort:
		client = r.Client
	case *ClaimCheck:
		client = r.Client
	case *LostReply:
		client = r.Client
	case *Holds:
		client = r.Client
	case *Reconnected:
		client = r.Client
	case *Connected:
		client = r.Client
	}
	if client < 0 {
		return -1
	}
	return s.header.PathOf(client)
}

func (s *PathSplit) ofNode(path string) int {
	m := inPath.FindStringSubmatch(path)
	if m == nil {
		return -1
	}
	i, err := strconv.Atoi(m[1])
	if err != nil || i >= s.header.Paths {
		return -1
	}
	return i
}
