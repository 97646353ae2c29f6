package history

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A small file that decompresses to gigabytes is given up soon.
func TestReader_givesUpOnWhatExpands(t *testing.T) {
	var file bytes.Buffer
	w, err := zstd.NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(`{"schema":"` + Schema + `","trial":"t"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"session":{"at":1,"event":"opened","client":0,"session":1}}` + "\n")
	for range 4 * textFloor / len(line) {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	records := 0
	for _, err = range r.Records() {
		if err != nil {
			break
		}
		records++
	}
	if !errors.Is(err, ErrExpands) || records > 2*textFloor/len(line) {
		t.Errorf("%d records were read: %v", records, err)
	}
}
