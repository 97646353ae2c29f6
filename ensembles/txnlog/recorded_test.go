package txnlog

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// The recorded log is of ZooKeeper 3.8.0, cut behind its last entry but for some
// of the zeros that fill it.
func TestReader_readsWhatAServerWrote(t *testing.T) {
	file, err := os.ReadFile("testdata/zookeeper-3.8.0.log")
	if err != nil {
		t.Fatal(err)
	}
	all, r, err := readAll(0, file)
	if err != nil || r.TruncatedFiles != 0 || r.Unknown != 0 {
		t.Fatalf("got %v; %d torn, %d unknown", err, r.TruncatedFiles, r.Unknown)
	}
	var got []string
	for i, e := range all {
		if e.Zxid != z(1, int64(i)+1) {
			t.Errorf("entry %d is %#x", i, e.Zxid)
		}
		got = append(got, fmt.Sprintf("%d %v %s %q %d parts %v", e.Cxid, e.Type, e.Path, e.Data, len(e.Parts), e.Removed))
	}
	want := []string{
		`0 open-session  "" 0 parts []`,
		`1 create /a "x" 0 parts []`,
		`2 create /a/s-0000000000 "y" 0 parts []`,
		`3 create /c "" 0 parts []`,
		`4 set-data /a "new" 0 parts []`,
		`5 set-acl /a "" 0 parts []`,
		`6 error  "" 0 parts []`,
		`7 delete /a/s-0000000000 "" 0 parts []`,
		`8 multi  "" 4 parts []`,
		`9 multi  "" 3 parts []`,
		`10 create /a/e "" 0 parts []`,
		`11 close-session  "" 0 parts [/a/e]`,
		`0 open-session  "" 0 parts []`,
		`1 create /k "" 0 parts []`,
		`0 close-session  "" 0 parts [/k]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
