package txnlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// z is a zxid.
func z(epoch, count int64) int64 { return epoch<<32 + count }

// having is a member's log with these entries.
func having(zxids ...int64) []byte {
	entries := [][]byte{}
	for _, zxid := range zxids {
		entries = append(entries, created(zxid, fmt.Sprintf("/%x", zxid)))
	}
	return logFile(entries...)
}

// mergeAll merges the logs of members, one file each, and returns the entries.
func mergeAll(first uint32, after, upTo int64, logs ...[]byte) (got []Entry, s Summary, err error) {
	var members [][]io.Reader
	for _, log := range logs {
		members = append(members, []io.Reader{bytes.NewReader(log)})
	}
	s, err = Merge(first, after, upTo, func(e Entry) error {
		got = append(got, e)
		return nil
	}, members...)
	return got, s, err
}

func TestMerge_joinsWhatTheMembersHave(t *testing.T) {
	for name, test := range map[string]struct {
		after, upTo int64
		logs        [][]byte // the leader's first
		want        []int64
		gaps        []Gap
		uncommitted int
	}{
		"all have all": {0, 0, [][]byte{having(z(1, 1), z(1, 2)), having(z(1, 1), z(1, 2))},
			[]int64{z(1, 1), z(1, 2)}, nil, 0},
		"a gap of the leader is filled": {0, 0, [][]byte{having(z(1, 1), z(1, 4)), having(z(1, 1), z(1, 2)), having(z(1, 3), z(1, 4))},
			[]int64{z(1, 1), z(1, 2), z(1, 3), z(1, 4)}, nil, 0},
		"the leader came late, by a snapshot": {0, 0, [][]byte{having(z(2, 2)), having(z(1, 1), z(2, 1), z(2, 2))},
			[]int64{z(1, 1), z(2, 1), z(2, 2)}, nil, 0},
		"a gap that stays is named": {0, 0, [][]byte{having(z(1, 1), z(1, 5)), having(z(1, 3))},
			[]int64{z(1, 1), z(1, 3), z(1, 5)}, []Gap{{z(1, 2), z(1, 2)}, {z(1, 4), z(1, 4)}}, 0},
		"an epoch begins with one": {0, 0, [][]byte{having(z(1, 1), z(3, 3))},
			[]int64{z(1, 1), z(3, 3)}, []Gap{{z(3, 1), z(3, 2)}}, 0},
		"what comes after a zxid": {z(1, 2), 0, [][]byte{having(z(1, 1), z(1, 2), z(1, 3)), having(z(1, 2))},
			[]int64{z(1, 3)}, nil, 0},
		"what comes after a zxid, with a gap behind it": {z(1, 2), 0, [][]byte{having(z(1, 4))},
			[]int64{z(1, 4)}, []Gap{{z(1, 3), z(1, 3)}}, 0},
		"up to what the leader has said": {0, z(1, 2), [][]byte{having(z(1, 1), z(1, 2), z(1, 3))},
			[]int64{z(1, 1), z(1, 2)}, nil, 0},
		"the leader has said more than it has written": {0, z(1, 3), [][]byte{having(z(1, 1)), having(z(1, 1), z(1, 2), z(1, 3), z(1, 4))},
			[]int64{z(1, 1), z(1, 2), z(1, 3)}, nil, 0},
		"the leader has said more than anybody has written": {0, z(1, 3), [][]byte{having(z(1, 1))},
			[]int64{z(1, 1)}, []Gap{{z(1, 2), z(1, 3)}}, 0},
		"a new epoch without a transaction": {0, z(2, 0), [][]byte{having(z(1, 1)), having(z(1, 1))},
			[]int64{z(1, 1)}, nil, 0},
		"a leader that was cut off wrote what nobody agreed to": {0, 0, [][]byte{having(z(1, 1), z(2, 1)), having(z(1, 1), z(1, 2), z(1, 3))},
			[]int64{z(1, 1), z(2, 1)}, nil, 2},
		"a leader that was cut off, and follows again": {0, 0, [][]byte{having(z(1, 1), z(2, 1)), having(z(1, 1), z(1, 2), z(1, 3), z(2, 1)), having(z(1, 1), z(2, 1))},
			[]int64{z(1, 1), z(2, 1)}, nil, 2},
		"what a majority wrote, and the leader has by snapshot": {0, 0, [][]byte{having(z(1, 1), z(2, 1)), having(z(1, 1), z(1, 2), z(2, 1)), having(z(1, 1), z(1, 2))},
			[]int64{z(1, 1), z(1, 2), z(2, 1)}, nil, 0},
		"the end of an epoch that the leader had by snapshot": {0, 0, [][]byte{having(z(1, 1), z(2, 1)), having(z(1, 1), z(1, 2), z(2, 1)), having(z(1, 1), z(1, 2), z(1, 3))},
			[]int64{z(1, 1), z(1, 2), z(2, 1)}, nil, 1},
		"what others write while they are read": {0, 0, [][]byte{having(z(1, 1)), having(z(1, 1), z(1, 2))},
			[]int64{z(1, 1)}, nil, 1},
		"nothing yet":   {0, 0, [][]byte{having(), having()}, nil, nil, 0},
		"no log at all": {0, z(1, 1), nil, nil, []Gap{{z(1, 1), z(1, 1)}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			all, s, err := mergeAll(0, test.after, test.upTo, test.logs...)
			got := zxids(all)
			if err != nil || !slices.Equal(got, test.want) || s.Entries != len(got) {
				t.Errorf("got %#x, %v; want %#x", got, err, test.want)
			}
			if !slices.Equal(s.Gaps, test.gaps) || s.Uncommitted != test.uncommitted {
				t.Errorf("gaps %v, %d uncommitted; want %v, %d", s.Gaps, s.Uncommitted, test.gaps, test.uncommitted)
			}
			if n := len(got); n > 0 && s.Last != got[n-1] {
				t.Errorf("the last is %#x", s.Last)
			}
		})
	}
}

func TestMerge_countsLogsThatAreCutOrUnrelated(t *testing.T) {
	log := having(z(1, 1), z(1, 2))
	for name, test := range map[string]struct {
		logs           [][]byte
		cut, unrelated int
	}{
		"whole":      {[][]byte{log, log}, 0, 0},
		"one is cut": {[][]byte{log[:len(log)-5], log}, 1, 0},
		"a server was killed while it wrote, into a file filled with zeros": {[][]byte{append(slices.Clone(log[:len(log)-5]), make([]byte, 100)...), log}, 0, 0},
		"one is of a standalone server":                                     {[][]byte{log, having(z(0, 1), z(0, 2))}, 0, 1},
		"one is of a leader that was cut off":                               {[][]byte{having(z(1, 1), z(2, 1)), log}, 0, 0},
		"one has nothing":                                                   {[][]byte{log, having()}, 0, 0},
	} {
		if _, s, err := mergeAll(0, 0, 0, test.logs...); err != nil || s.Cut != test.cut || s.Unrelated != test.unrelated {
			t.Errorf("%s: %d are cut and %d are unrelated, want %d and %d (%v)", name, s.Cut, s.Unrelated, test.cut, test.unrelated, err)
		}
	}
}

// Where epochs begin at a later number, none before it is missing; those after it are.
func TestMerge_firstZxid(t *testing.T) {
	for name, test := range map[string]struct {
		after int64
		log   []byte
		gaps  []Gap
	}{
		"from the start of the first epoch": {z(1, 0), having(z(1, 101), z(1, 102), z(2, 101)), nil},
		"the first one is missing":          {z(1, 102), having(z(2, 102)), []Gap{{z(2, 101), z(2, 101)}}},
		"one in between is missing":         {z(1, 0), having(z(1, 101), z(1, 103)), []Gap{{z(1, 102), z(1, 102)}}},
	} {
		_, s, err := mergeAll(100, test.after, 0, test.log)
		if err != nil || !slices.Equal(s.Gaps, test.gaps) {
			t.Errorf("%s: gaps %v, want %v (%v)", name, s.Gaps, test.gaps, err)
		}
	}
}

func TestMerge_failsWhereLogsCannotBeTrusted(t *testing.T) {
	good := having(z(1, 1), z(1, 2))
	damaged := slices.Clone(good)
	damaged[60] ^= 1
	const disagree = "disagree on transaction 0x100000001: create /100000001 by session 0x7, and create /other by session 0x7"
	for want, other := range map[string][]byte{"is damaged": damaged, disagree: logFile(created(z(1, 1), "/other"))} {
		if _, _, err := mergeAll(0, 0, 0, good, other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	enough := errors.New("enough")
	_, err := Merge(0, 0, 0, func(Entry) error { return enough }, []io.Reader{bytes.NewReader(good)})
	if !errors.Is(err, enough) {
		t.Errorf("where the caller has enough: %v", err)
	}
}

func TestMerge_readsNoFurtherThanItIsAsked(t *testing.T) {
	half := created(z(1, 3), "/half")
	half[40] = 0
	log := logFile(created(z(1, 1), "/a"), created(z(1, 2), "/b"), half, created(z(1, 4), "/c"))
	for after := z(1, 0); after <= z(1, 2); after++ {
		got, s, err := mergeAll(0, after, z(1, 2), log, log)
		if err != nil || len(got) != int(z(1, 2)-after) || s.Gaps != nil {
			t.Errorf("after %#x: got %#x, %+v, %v", after, zxids(got), s, err)
		}
	}
}

func TestMerge_allowsForTwoVersions(t *testing.T) {
	old := logFile(entry(txn(1, -11)))
	recent := logFile(entry(txn(1, -11, int32(1), "/a", int32(2), int64(5))))
	if got, _, err := mergeAll(0, 0, 0, recent, old); err != nil || len(got) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMerge_countsWhatTheReadersSay(t *testing.T) {
	_, s, err := mergeAll(0, 0, 0, logFile(created(1, "/a"), entry(txn(2, 99))), logFile(created(1, "/a"), created(2, "/b")[:30]))
	if err != nil || s.TruncatedFiles != 1 || s.Unknown != 1 || s.Entries != 2 {
		t.Errorf("got %+v, %v", s, err)
	}
}

// What a session took with it is known, too, where the server does not write it.
func TestMerge_fillsInWhatWentWithASession(t *testing.T) {
	const closeSession, deleteNode, multi = -11, 2, 14
	part := pack("/m", "data", noACL, true, int32(1))
	for name, test := range map[string]struct {
		entries [][]byte
		want    []string // of the close
	}{
		"what it had":                 {[][]byte{created(1, "/b"), created(2, "/a"), entry(txn(3, closeSession))}, []string{"/a", "/b"}},
		"not what it had deleted":     {[][]byte{created(1, "/a"), created(2, "/b"), entry(txn(3, deleteNode, "/a")), entry(txn(4, closeSession))}, []string{"/b"}},
		"what it had made again":      {[][]byte{created(1, "/a"), entry(txn(2, deleteNode, "/a")), created(3, "/a"), entry(txn(4, closeSession))}, []string{"/a"}},
		"what it had made in a multi": {[][]byte{entry(txn(1, multi, int32(1), int32(1), int32(len(part)), part)), entry(txn(2, closeSession))}, []string{"/m"}},
		"nothing of what stays":       {[][]byte{entry(txn(1, 1, "/stays", "data", noACL, false, int32(1))), entry(txn(2, closeSession))}, nil},
		"what the server writes":      {[][]byte{created(1, "/a"), entry(txn(2, closeSession, int32(1), "/x"))}, []string{"/x"}},
		"what another session has":    {[][]byte{created(1, "/a"), entry(pack(int64(8), int32(9), int64(2), int64(1000), int32(closeSession)))}, nil},
	} {
		got, _, err := mergeAll(0, 0, 0, logFile(test.entries...))
		if last := got[len(got)-1]; err != nil || last.Type != CloseSession || !slices.Equal(last.Removed, test.want) {
			t.Errorf("%s: got %v %v, %v; want %v", name, last.Type, last.Removed, err, test.want)
		}
	}
}

func TestGap_namesItsEpoch(t *testing.T) {
	if got, want := (Gap{z(3, 5), z(3, 7)}).String(), "epoch 3: 3 transactions, 0x300000005 to 0x300000007"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// BenchmarkMerge merges the logs of three members that agree.
func BenchmarkMerge(b *testing.B) {
	const n = 100_000
	file := lockLog(n)
	log := func() []io.Reader { return []io.Reader{bytes.NewReader(file)} }
	b.ReportAllocs()
	for b.Loop() {
		s, err := Merge(0, 0, 0, func(Entry) error { return nil }, log(), log(), log())
		if err != nil || s.Entries != n {
			b.Fatalf("%+v, %v", s, err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}
