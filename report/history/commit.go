package history

import (
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"time"
)

// Types of transactions in Commit.Op.
const (
	CommitOpen   = "open"
	CommitClose  = "close" // closed by its client, or expired: then Cxid is 0
	CommitCreate = "create"
	CommitDelete = "delete" // by a request; the nodes of a closed session are in Removed
	CommitSet    = "set"
	CommitError  = "error" // a rejected request, which is also logged
)

// Commit is an operation that the servers committed, read from their transaction logs. A history has
// only commits that concern the trial's subtree or its sessions. A transaction of several operations
// has one commit per operation, all with the same zxid.
type Commit struct {
	Zxid      int64    `json:"zxid"`
	Session   int64    `json:"session"`
	Cxid      int32    `json:"cxid,omitempty"` // the number that the client gave its request; 0: made by a server
	Op        string   `json:"op"`
	Path      string   `json:"path,omitempty"`
	Ephemeral bool     `json:"ephemeral,omitempty"`
	Item      string   `json:"item,omitempty"`    // create: ID of the queue item in the node
	Version   int32    `json:"version,omitempty"` // set: version after the operation
	Removed   []string `json:"removed,omitempty"` // close: the session's nodes, which were removed
	Code      int32    `json:"code,omitempty"`    // error: ZooKeeper's error code
}

// RemovedPaths returns the paths of the nodes that the commit removed.
func (c *Commit) RemovedPaths() []string {
	switch c.Op {
	case CommitDelete:
		return []string{c.Path}
	case CommitClose:
		return c.Removed
	}
	return nil
}

// Time returns 0: a commit has a position in the servers' order, but no time on the trial's clock.
func (c *Commit) Time() time.Duration { return 0 }

// CommitsEnd follows the last commit. It records whether the commits are complete.
type CommitsEnd struct {
	After   int64     `json:"after"` // the commits begin after this zxid
	Last    int64     `json:"last"`  // zxid of the last transaction read
	Read    int       `json:"read"`  // number of transactions read, of all sessions
	Gaps    []ZxidGap `json:"gaps,omitempty"`
	Unknown int       `json:"unknown,omitempty"` // number of transactions of unknown types
	Err     string    `json:"err,omitempty"`     // why reading ended early
}

// ZxidGap is a range of zxids, From to To, that no member's log contains.
type ZxidGap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Time returns 0, like [Commit.Time].
func (c *CommitsEnd) Time() time.Duration { return 0 }

// CommitsPath returns the path of the commits of the history at path, in a folder next to the histories'.
func CommitsPath(path string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(path)), "commits", filepath.Base(path))
}

// withCommits yields the records of a history and its commits, each commit before the first record of
// a client that may know of it: a sample whose reply had zxid z comes after every commit up to z.
// Commits have no number. commits may be nil.
func withCommits(records, commits iter.Seq2[Numbered, error]) iter.Seq2[Numbered, error] {
	if commits == nil {
		return records
	}
	return func(yield func(Numbered, error) bool) {
		next, stop := iter.Pull2(commits)
		defer stop()
		first, last, more := next()
		// upTo yields the commits up to zxid. It returns false if the consumer stops the iteration.
		upTo := func(zxid int64) bool {
			for more && last == nil && zxidOf(first.Record) <= zxid {
				if !yield(Numbered{Record: first.Record}, nil) {
					return false
				}
				first, last, more = next()
			}
			return true
		}
		for n, err := range records {
			if err != nil {
				yield(n, err)
				return
			}
			if s, ok := n.Record.(*Sample); ok && !upTo(s.Zxid) {
				return
			}
			if !yield(n, nil) {
				return
			}
		}
		if upTo(1<<63-1) && last != nil {
			yield(Numbered{}, errors.Join(errCommits, last))
		}
	}
}

var errCommits = errors.New("the commits cannot be read")

// zxidOf returns the zxid of a commit, and the highest zxid for other records.
func zxidOf(r Record) int64 {
	if c, ok := r.(*Commit); ok {
		return c.Zxid
	}
	return 1<<63 - 1
}

func commitsOf(path string) (iter.Seq2[Numbered, error], error) {
	r, f, err := openReader(CommitsPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.Close()
	return file(CommitsPath(path), nil), f.Close()
}
