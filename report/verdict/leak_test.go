package verdict

import (
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

// repeated is a client that acquires and releases n times. Each acquire also creates a node, which
// remains if kept says so.
func repeated(n int, path string, ephemeral bool, kept func(i int) bool) []history.Record {
	records := list{opened(1, 101)}
	zxid := int64(10)
	for i := range n {
		extra := &history.Commit{Op: history.CommitCreate, Session: 101, Zxid: zxid, Cxid: 1, Path: fmt.Sprintf("%s%d", path, i), Ephemeral: ephemeral}
		lock := created(101, zxid+1)
		records = append(records, extra, lock, acquired(1, zxid+1, zxid+1, second), deleted(101, zxid+1, zxid+2),
			released(1, zxid+1, zxid+2, second))
		if !kept(i) {
			records = append(records, &history.Commit{Op: history.CommitDelete, Session: 101, Zxid: zxid + 3, Cxid: 1, Path: extra.Path})
		}
		zxid += 4
	}
	return append(records, whole())
}

func TestNoLeak(t *testing.T) {
	always := func(int) bool { return true }
	judgeRecords(t, NoLeak, fair, nil, []recordRow{
		{"a sequential node for each acquire", repeated(20, "/l/probe-", true, always), Fail, ""},
		{"in another folder", repeated(20, "/elsewhere/p-", true, always), Fail, ""},
		{"persistent nodes", repeated(20, "/l/user-", false, always), Fail, ""},
		{"for every fourth acquire", repeated(40, "/l/probe-", true, func(i int) bool { return i%4 == 0 }), Fail, ""},
		{"each is deleted", repeated(20, "/l/probe-", true, func(int) bool { return false }), Pass, ""},
		{"only the first, which is its set-up", repeated(20, "/l/member-", true, func(i int) bool { return i == 0 }), Pass, ""},
		{"only the last, which its end interrupted", repeated(20, "/l/probe-", true, func(i int) bool { return i == 19 }), Pass, ""},
		{"one acquire repeats nothing", repeated(1, "/l/probe-", true, always), NotJudged, ""},
	})
	judgeOne(t, NoLeak, list{opened(1, 101), acquired(1, 10, 10, second)}, NotJudged, "without transaction logs, it is unknown which nodes")
}

// What a queue stores for good is data, its consumers' ephemeral nodes are not.
func TestNoLeak_ofAQueue(t *testing.T) {
	queue := history.Header{Trial: "t", Recipe: Queue}
	judgeHeader(t, queue, NoLeak, repeated(20, "/q/taken/", false, func(int) bool { return true }), Pass, "")
	judgeHeader(t, queue, NoLeak, repeated(20, "/q/claim-", true, func(int) bool { return true }), Fail, "client 1 left 19 nodes behind in 40 operations")
}
