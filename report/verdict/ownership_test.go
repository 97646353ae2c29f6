package verdict

import (
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestOwnershipQuery(t *testing.T) {
	lost := &history.Session{Event: history.Lost, Client: 1, Session: 101, At: second}
	answers := func(session int64, holds bool) []history.Record {
		return []history.Record{opened(1, 101), lost, &history.Holds{Asked: 2 * second, At: 2 * second, Client: 1, Session: session, Holds: holds}}
	}
	judgeOne(t, OwnershipQuery, answers(101, true), Fail, "client 1 answered at 2s that it holds (record 3), 1s after it was notified that its session 0x65 was lost (record 2)")
	judgeOne(t, OwnershipQuery, answers(101, false), Pass, "1 answer")
	judgeOne(t, OwnershipQuery, answers(102, true), Pass, "") // of a later session
	judgeOne(t, OwnershipQuery, []history.Record{opened(1, 101), lost}, NotJudged, "no client that reports its ownership lost a grant")
}
