package txnlog

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestReader_understandsEveryType(t *testing.T) {
	acl := pack(int32(1), int32(31), "world", "anyone")
	digest := pack(int32(2), int64(0x1234567890))
	big := strings.Repeat("x", MaxData+1)
	for name, test := range map[string]struct {
		code int32
		body []any
		want Entry
	}{
		"create": {1, []any{"/a", "d", acl, true, int32(4)},
			Entry{Op: Op{Type: Create, Path: "/a", Ephemeral: true, Data: []byte("d"), Size: 1}}},
		"create, of a server before 3.4": {1, []any{"/a", "d", acl, true},
			Entry{Op: Op{Type: Create, Path: "/a", Ephemeral: true, Data: []byte("d"), Size: 1}}},
		"create2, with a digest behind it": {15, []any{"/a", "", acl, false, int32(4), digest},
			Entry{Op: Op{Type: Create, Path: "/a", Data: []byte{}}}},
		"create without data or rights": {1, []any{"/a", int32(-1), noACL, false, int32(4)},
			Entry{Op: Op{Type: Create, Path: "/a"}}},
		"createContainer": {19, []any{"/a", "d", acl, int32(4), digest},
			Entry{Op: Op{Type: Create, Path: "/a", Data: []byte("d"), Size: 1}}},
		"createTTL": {21, []any{"/a", "d", acl, int32(4), int64(1000), digest},
			Entry{Op: Op{Type: Create, Path: "/a", Data: []byte("d"), Size: 1}}},
		"delete":          {2, []any{"/a", digest}, Entry{Op: Op{Type: Delete, Path: "/a"}}},
		"deleteContainer": {20, []any{"/a"}, Entry{Op: Op{Type: Delete, Path: "/a"}}},
		"setData": {5, []any{"/a", "new", int32(3), digest},
			Entry{Op: Op{Type: SetData, Path: "/a", Data: []byte("new"), Size: 3, Version: 3}}},
		"data that is too long to keep is measured": {5, []any{"/a", big, int32(3)},
			Entry{Op: Op{Type: SetData, Path: "/a", Size: MaxData + 1, Version: 3}}},
		"setACL": {7, []any{"/a", acl, int32(2)}, Entry{Op: Op{Type: SetACL, Path: "/a", Version: 2}}},
		"reconfig": {16, []any{"/zookeeper/config", "server.1", int32(1)},
			Entry{Op: Op{Type: Reconfig, Path: "/zookeeper/config", Data: []byte("server.1"), Size: 8, Version: 1}}},
		"error":                             {-1, []any{int32(-101), digest}, Entry{Op: Op{Type: Error, Err: -101}}},
		"createSession":                     {-10, []any{int32(4000), digest}, Entry{Op: Op{Type: OpenSession}, Timeout: 4 * time.Second}},
		"closeSession of 3.5 lists nothing": {-11, nil, Entry{Op: Op{Type: CloseSession}}},
		"closeSession with a digest lists nothing":  {-11, []any{digest}, Entry{Op: Op{Type: CloseSession}}},
		"closeSession of a session without a node":  {-11, []any{int32(0), digest}, Entry{Op: Op{Type: CloseSession}, Listed: true}},
		"closeSession names the nodes that it took": {-11, []any{int32(2), "/a", "/b", digest}, Entry{Op: Op{Type: CloseSession}, Listed: true, Removed: []string{"/a", "/b"}}},
		"multi": {14, []any{int32(4),
			int32(1), string(pack("/a", "d", acl, true, int32(4))),
			int32(2), string(pack("/b")),
			int32(5), string(pack("/c", "e", int32(2))),
			int32(13), string(pack("/d", int32(8))), digest},
			Entry{Op: Op{Type: Multi}, Parts: []Op{
				{Type: Create, Path: "/a", Ephemeral: true, Data: []byte("d"), Size: 1},
				{Type: Delete, Path: "/b"},
				{Type: SetData, Path: "/c", Data: []byte("e"), Size: 1, Version: 2},
				{Type: Check, Path: "/d", Version: 8}}}},
		"a multi that failed did nothing": {14, []any{int32(3),
			int32(1), string(pack("/a", "d", acl, true, int32(4))),
			int32(-1), string(pack(int32(-101))),
			int32(-1), string(pack(int32(-2)))},
			Entry{Op: Op{Type: Multi, Err: -101}, Parts: []Op{{Type: Error}, {Type: Error, Err: -101}, {Type: Error, Err: -2}}}},
		"one that a member wrote after it was undone": {14, []any{int32(3),
			int32(-1), string(pack("/a", "d", acl, true, int32(4))),
			int32(-1), string(pack(int32(-101))),
			int32(-1), string(pack(int32(-2)))},
			Entry{Op: Op{Type: Multi, Err: -101}, Parts: []Op{{Type: Error}, {Type: Error, Err: -101}, {Type: Error, Err: -2}}}},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.Zxid, test.want.Session, test.want.Cxid, test.want.Time = 1, 7, 9, time.UnixMilli(1000)
			got, r, err := readAll(0, logFile(entry(txn(1, test.code, test.body...))))
			if err != nil || len(got) != 1 || r.Unknown != 0 || r.TruncatedFiles != 0 {
				t.Fatalf("got %+v, %v; %d unknown, %d torn", got, err, r.Unknown, r.TruncatedFiles)
			}
			if !reflect.DeepEqual(got[0], test.want) {
				t.Errorf("got  %+v\nwant %+v", got[0], test.want)
			}
		})
	}
}

func TestReader_countsWhatItDoesNotUnderstand(t *testing.T) {
	for name, test := range map[string]struct {
		txn  []byte
		want Type // of the entry that is delivered beside the next one
	}{
		"a type that is not known":             {txn(1, 99, "whatever"), Unknown},
		"a body that is too short":             {txn(1, 2, int32(10), []byte("/a")), Unknown},
		"a length that is negative":            {txn(1, 2, int32(-2)), Unknown},
		"a field behind the body":              {txn(1, 2, "/a", int32(1)), Delete},
		"a part of a multi that is not known":  {txn(1, 14, int32(1), int32(99), "x"), Multi},
		"a part of a multi that is too short":  {txn(1, 14, int32(1), int32(2), "x"), Multi},
		"a multi that claims 2,147,483,647":    {txn(1, 14, int32(1<<31-1)), Unknown},
		"a closeSession with something else":   {txn(1, -11, int32(1), "no path"), CloseSession},
		"an access list without an end":        {txn(1, 7, "/a", int32(1<<31-1), int32(31)), Unknown},
		"an open session that says no timeout": {txn(1, -10), Unknown},
	} {
		got, r, err := readAll(0, logFile(entry(test.txn), created(2, "/b")))
		if err != nil || r.Unknown != 1 || len(got) != 2 || got[0].Type != test.want || got[0].Zxid != 1 || got[1].Path != "/b" {
			t.Errorf("%s: got %+v, %v; %d unknown", name, got, err, r.Unknown)
		}
	}
	got, r, err := readAll(0, logFile(entry([]byte("tiny")), created(2, "/b")))
	if err != nil || r.Unknown != 1 || len(got) != 1 {
		t.Errorf("an entry without a header: got %+v, %v; %d unknown", got, err, r.Unknown)
	}
}

func TestType_hasAName(t *testing.T) {
	for typ := Unknown; typ <= Error; typ++ {
		if name := typ.String(); name == "" || strings.Contains(name, "(") {
			t.Errorf("%d is called %q", typ, name)
		}
	}
	if got := Type(-1).String(); got != "Type(-1)" {
		t.Errorf("got %s", got)
	}
}
