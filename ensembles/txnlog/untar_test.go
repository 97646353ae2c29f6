package txnlog

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
)

func TestUntar_keepsWhatIsAskedFor(t *testing.T) {
	header, padding := string(logFile()), string(make([]byte, 1000))
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range []struct{ name, text string }{
		{"version-2/", ""},
		{"version-2/log.a", header + "a" + padding},
		{"version-2/log.1", header + "1" + padding},
		{"version-2/log.20", header + padding},
		{"version-2/snapshot.0", "snapshot"},
	} {
		_ = w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: 0o644}) // into memory
		_, _ = w.Write([]byte(f.text))
	}
	w.Close()
	for after, want := range map[int64][]string{
		0:    {"log.1 17", "log.a 17", "log.20 16"},
		0x10: {"log.a 17", "log.20 16"},
		0x99: {"log.20 16"},
	} {
		logs, err := Untar(bytes.NewReader(archive.Bytes()), after)
		var got []string
		for _, l := range logs {
			text, _ := io.ReadAll(l) // of memory
			got = append(got, fmt.Sprint(l.(untarred).Name(), " ", len(text)))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("after %#x: got %q, %v; want %q", after, got, err, want)
		}
	}
	if _, err := Untar(bytes.NewReader(archive.Bytes()[:1000]), 0); err == nil {
		t.Error("no error for half an archive")
	}
}

func TestSelect_skipsFilesThatEndTooEarly(t *testing.T) {
	names := []string{"log.200000001", "snapshot.0", "log.1000000ff", "log.100000001", "log.zz", "currentEpoch", "log.f"}
	inOrder := []string{"log.f", "log.100000001", "log.1000000ff", "log.200000001"}
	for name, test := range map[string]struct {
		after int64
		want  []string
	}{
		"from the beginning":                     {0, inOrder},
		"from within a file":                     {0x100000080, inOrder[1:]},
		"from the last entry of a file":          {0x1000000fe, inOrder[2:]},
		"from one before the last":               {0x1000000fd, inOrder[1:]},
		"from the end of an epoch, not known":    {0x1000001ff, inOrder[2:]},
		"the last file may always have it":       {0x900000000, inOrder[3:]},
		"from the end of what an epoch could be": {0x200000000, inOrder[3:]},
	} {
		if got := Select(names, test.after); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
