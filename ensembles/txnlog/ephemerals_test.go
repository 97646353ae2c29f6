package txnlog

import (
	"bytes"
	"io"
	"slices"
	"testing"
)

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
		t.Run(name, func(t *testing.T) {
			var last Entry
			_, err := Merge(0, 0, 0, func(e Entry) error {
				last = e
				return nil
			}, []io.Reader{bytes.NewReader(logFile(test.entries...))})
			if err != nil || last.Type != CloseSession || !slices.Equal(last.Removed, test.want) {
				t.Errorf("got %v %v, %v; want %v", last.Type, last.Removed, err, test.want)
			}
		})
	}
}
