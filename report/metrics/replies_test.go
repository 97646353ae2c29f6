package metrics

import (
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestRepliesSettled(t *testing.T) {
	lost := func(cxid int32) history.Record { return &history.LostReply{Session: 7, Cxid: cxid} }
	done := func(session int64, cxid int32) history.Record {
		return &history.Commit{Zxid: int64(cxid), Session: session, Cxid: cxid, Op: history.CommitDelete}
	}
	gap := &history.CommitsEnd{Gaps: []history.ZxidGap{{From: 8, To: 9}}}
	for _, c := range []struct {
		name              string
		records           []history.Record
		settled, expected float64
		note              string
	}{
		{"one was carried out, one was not", []history.Record{lost(3), lost(4), done(7, 3), done(8, 4), &history.CommitsEnd{}}, 2, 2, "1 were carried out"},
		{"what is not in commits with a gap is open", []history.Record{lost(3), lost(4), done(7, 3), gap}, 1, 2, "1 were carried out"},
		{"commits without an end settle what they have", []history.Record{lost(3), lost(4), done(7, 3)}, 1, 2, "1 were carried out"},
		{"without commits all is open", []history.Record{lost(3)}, 0, 1, "0 were carried out"},
		{"a transaction of two operations settles one", []history.Record{lost(3), lost(4), done(7, 3), done(7, 3), gap}, 1, 2, "1 were carried out"},
	} {
		h := history.Of(history.Header{}, c.records...)
		f := NewFold(h)
		for n := range h.Records {
			f.Record(n)
		}
		m, ok := f.Close()[RepliesSettled]
		if !ok || *m.Value != c.settled || *m.Expected != c.expected || m.Note != c.note {
			t.Errorf("%s: got %+v", c.name, m)
		}
	}
	if m, ok := NewFold(history.Of(history.Header{})).Close()[RepliesSettled]; ok {
		t.Errorf("no reply was lost, and there is %+v", m)
	}
}
