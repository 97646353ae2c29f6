package verdict

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// leaks counts by the commits which nodes each session created and did not delete, anywhere in the
// tree. Nodes from before the session's first operations have returned are its set-up. Items of
// queues, and the nodes that a queue stores permanently (a journal, a record of a take), are its data.
type leaks struct {
	commits *facts.NodeTable
	queue   bool
	faults  map[int][]history.Fault // by client
	grants  *facts.Grants
	clients map[int64]int          // by session
	counts  map[int64]*operations  // by session
	nodes   map[string]createdNode // existing ones, by path
}

type operations struct {
	count     int
	record    int // of the last
	leftNodes int
	last      createdNode
}

type createdNode struct {
	path    string
	session int64
	czxid   int64
}

const (
	// setUp is the number of a session's operations during which it may create nodes that it keeps.
	setUp = 2
	// keptNodes is the number of nodes of a session that are not a leak: the nodes of the last
	// operation, which its end interrupted.
	keptNodes = 3
	// leakRate is the largest number of operations per leftover node that counts as a leak. Rarer
	// leftovers cannot be distinguished from the nodes of interrupted operations.
	leakRate = 20
)

func newNoLeak(in *inputs) checker {
	if in.commits == nil {
		return checker{finish: func(ending) Verdict {
			return notJudged("without transaction logs, it is unknown which nodes were left behind")
		}}
	}
	x := &leaks{
		commits: in.commits, grants: in.grants, queue: in.history.Header.Recipe == Queue,
		faults: facts.FaultsByClient(in.history), clients: map[int64]int{}, counts: map[int64]*operations{},
		nodes: map[string]createdNode{},
	}
	return checker{record: x.record, commit: x.commit, finish: x.finish}
}

func (x *leaks) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Session:
		if r.Event == history.Opened {
			x.clients[r.Session] = r.Client
		}
	case *history.Sample:
		if session := x.grants.Current[r.Client]; r.Op != history.Write && session != 0 {
			o := facts.ValueAt(x.counts, session)
			o.count++
			o.record = n.N
		}
	}
}

func (x *leaks) commit(c *history.Commit) {
	_, known := x.clients[c.Session]
	switch c.Op {
	case history.CommitCreate:
		if known && c.Item == "" && (c.Ephemeral || !x.queue) && facts.ValueAt(x.counts, c.Session).count >= setUp {
			x.nodes[c.Path] = createdNode{c.Path, c.Session, c.Zxid}
		}
	case history.CommitDelete:
		if !known {
			x.leave(c.Path) // zkbench removes the trial's nodes
		}
		delete(x.nodes, c.Path)
	case history.CommitClose:
		for _, path := range c.Removed {
			x.leave(path)
		}
	}
}

func (x *leaks) leave(path string) {
	if n, ok := x.nodes[path]; ok {
		delete(x.nodes, path)
		o := facts.ValueAt(x.counts, n.session)
		o.leftNodes++
		o.last = n
	}
}

func (x *leaks) finish(end ending) Verdict {
	switch {
	case x.commits.IncompleteReason() != "":
		return unknown(x.commits.IncompleteReason())
	case end.truncated:
		return notJudged("it is unknown which nodes were left behind")
	}
	for _, path := range slices.Sorted(maps.Keys(x.nodes)) {
		x.leave(path)
	}
	var broken evidence
	repeated := 0
	for _, session := range slices.Sorted(maps.Keys(x.counts)) {
		o := x.counts[session]
		repeated += max(0, o.count-setUp)
		client := x.clients[session]
		if o.leftNodes > keptNodes+2*len(x.faults[client]) && o.leftNodes*leakRate >= o.count {
			broken.Add([]int{o.record},
				"client %d left %d nodes behind in %d operations of session %#x (the last in record %d); the last of these nodes, %s (czxid %#x), still existed when the session or the trial ended",
				client, o.leftNodes, o.count, uint64(session), o.record, o.last.path, uint64(o.last.czxid))
		}
	}
	switch {
	case broken.Count > 0:
		return broken.Fail("sessions")
	case repeated == 0:
		return notJudged("no session repeated an operation often enough to show a leak")
	}
	return pass()
}
