package wire

import (
	"bytes"
	"testing"
)

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 4, 1, 2, 3, 4})
	f.Add(append([]byte{0, 0, 0, 16}, make([]byte, 16)...))
	f.Add(connectRequest(Session{ID: 7, Password: make([]byte, 16)}))
	f.Add(closeRequest())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		least := replyExtents[1].least
		body, err := readFrame(bytes.NewReader(in), least)
		if err != nil {
			return
		}
		if len(body) < least || len(body) > readLimit || len(body)+4 > len(in) {
			t.Fatalf("%d bytes in, a body of %d", len(in), len(body))
		}
	})
}

// What the package writes is what its scanner reads.
func TestScanner_readsTheRequestsThatTakeASessionOver(t *testing.T) {
	s := scanner{extents: &requestExtents}
	in := append(connectRequest(Session{ID: 7, Password: []byte("0123456789abcdef")}), closeRequest()...)
	var heads [][]byte
	for len(in) > 0 {
		n, m := s.next(in)
		if in = in[n:]; m&atHead != 0 {
			heads = append(heads, bytes.Clone(s.head()))
		}
	}
	if len(heads) != 2 || int64At(heads[0], 16) != 7 || Op(int32At(heads[1], 4)) != CloseSession {
		t.Errorf("heads %x", heads)
	}
}
