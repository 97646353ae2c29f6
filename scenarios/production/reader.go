package production

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report/observe"
)

// reader passes transactions to a tracker.
type reader struct {
	tracker   *observe.Tracker
	existing  []txnlog.Node           // until the first transaction
	bySession map[int64][]txnlog.Node // of the snapshot, by session
	last      time.Time
}

func (r *reader) load(snapshot string, after int64) error {
	f, err := os.Open(snapshot)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(snapshot, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	return txnlog.Ephemerals(in, func(n txnlog.Node) {
		if n.Zxid <= after { // later ones follow in the log
			r.existing = append(r.existing, n)
			r.bySession[n.Session] = append(r.bySession[n.Session], n)
		}
	})
}

func (r *reader) apply(e *txnlog.Entry) {
	if r.last.IsZero() {
		r.tracker.Start(e.Time)
		for _, n := range r.existing {
			r.tracker.Existing(n.Path, n.Session, n.Created, e.Time)
		}
		r.existing = nil
	}
	r.last = e.Time
	switch e.Type {
	case txnlog.Multi:
		for i := range e.Parts {
			r.change(e, &e.Parts[i])
		}
	case txnlog.CloseSession:
		how := observe.Closed
		if e.Cxid == 0 {
			how = observe.Expired
		}
		for _, path := range e.Removed {
			r.tracker.Delete(path, how, e.Session, e.Time)
		}
		if !e.Listed {
			for _, n := range r.bySession[e.Session] {
				r.tracker.Delete(n.Path, how, e.Session, e.Time)
			}
		}
		delete(r.bySession, e.Session)
		r.tracker.SessionEnded(how)
	default:
		r.change(e, &e.Op)
	}
}

func (r *reader) change(e *txnlog.Entry, o *txnlog.Op) {
	switch {
	case o.Type == txnlog.Create && o.Ephemeral:
		r.tracker.Create(o.Path, e.Session, e.Time)
	case o.Type == txnlog.Delete:
		r.tracker.Delete(o.Path, observe.Released, e.Session, e.Time)
	}
}
