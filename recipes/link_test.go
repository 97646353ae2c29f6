package recipes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// frame is body with its length before it.
func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// FuzzCursor cuts a stream of frames into chunks at will: the cursor must see the
// same frames as in one piece.
func FuzzCursor(f *testing.F) {
	f.Add([]byte("a short one"), []byte{}, []byte("one that is longer than any head that anybody asks for, by far"), uint8(1))
	f.Add([]byte{0, 0, 0, 1}, []byte{1}, bytes.Repeat([]byte{7}, 300), uint8(7))
	f.Fuzz(func(t *testing.T, a, b, c []byte, step uint8) {
		bodies := [][]byte{a, b, c}
		stream := slices.Concat(frame(a), frame(b), frame(c))
		var got, lengths []string
		cur := cursor{begins: func(length int) { lengths = append(lengths, fmt.Sprint(length)) }}
		for chunk := range slices.Chunk(stream, int(step%64)+1) {
			cur.walk(chunk, replyHead, func(length int, head []byte) {
				got = append(got, fmt.Sprintf("%d:%x", length, head))
			})
		}
		var want, wantLengths []string
		for _, body := range bodies {
			want = append(want, fmt.Sprintf("%d:%x", len(body), body[:min(len(body), replyHead)]))
			wantLengths = append(wantLengths, fmt.Sprint(len(body)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("frames\n got %q\nwant %q", got, want)
		}
		if !slices.Equal(lengths, wantLengths) {
			t.Errorf("lengths\n got %q\nwant %q", lengths, wantLengths)
		}
	})
}

func TestCreatePath(t *testing.T) {
	request := func(op uint32, path string) []byte {
		b := binary.BigEndian.AppendUint32(nil, 9) // xid
		b = binary.BigEndian.AppendUint32(b, op)
		b = binary.BigEndian.AppendUint32(b, uint32(len(path)))
		return frame(append(append(b, path...), "and more"...))
	}
	for _, row := range []struct {
		about string
		b     []byte
		want  string
	}{
		{"a create has its path", request(opCreate, "/a/b-"), "/a/b-"},
		{"a delete is none", request(2, "/a/b-"), ""},
		{"a ping is too short", frame([]byte{255, 255, 255, 254, 0, 0, 0, 11}), ""},
		{"a path that claims more bytes than there are", request(opCreate, "/a/b-")[:16], ""},
		{"nothing", nil, ""},
	} {
		t.Run(row.about, func(t *testing.T) {
			if got := createPath(row.b); string(got) != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func FuzzCreatePath(f *testing.F) {
	f.Add([]byte{0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		if path := createPath(b); len(path) > len(b) {
			t.Errorf("%d bytes of path in a request of %d", len(path), len(b))
		}
	})
}
