package wire

import (
	"io"
	"slices"
	"testing"
)

func TestClient_Record_hasWhatGoesByInOrder(t *testing.T) {
	b := newBench(t)
	b.greet()
	b.write(ask(1, Exists, "/before"))
	b.read(answer(1, 1, 0, ""))
	script := b.c.Record()
	b.write(ask(2, Create, "/a"), ask(3, Exists, "/b"))
	b.read(answer(2, 2, 0, ""), event(2, "/b"), answer(3, 3, -101, ""))
	type line struct {
		kind FrameKind
		op   Op
		path string
		code int32
	}
	var got []line
	for _, f := range script.Frames() {
		got = append(got, line{f.Kind, f.Op, f.Path, f.Code})
	}
	want := []line{{RequestFrame, Create, "/a", 0}, {RequestFrame, Exists, "/b", 0}, {ReplyFrame, Create, "", 0},
		{NotificationFrame, Notified, "/b", 0}, {ReplyFrame, Exists, "", -101}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if _, err := io.ReadFull(b.conn, make([]byte, 1)); err == nil {
		t.Error("there was more")
	}
}
