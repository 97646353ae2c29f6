package txnlog_test

import (
	"archive/tar"
	"bytes"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/txnlog"
)

func TestUntar_keepsWhatIsAskedFor(t *testing.T) {
	header := "ZKLG\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00"
	padding := string(make([]byte, 1000))
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range []struct{ name, text string }{
		{"version-2/", ""},
		{"version-2/log.a", header + "a" + padding},
		{"version-2/log.1", header + "1" + padding},
		{"version-2/log.20", header + padding},
		{"version-2/snapshot.0", "snapshot"},
	} {
		check.OK(t, w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: 0o644}))
		_, err := w.Write([]byte(f.text))
		check.OK(t, err)
	}
	check.OK(t, w.Close())
	for name, test := range map[string]struct {
		after int64
		want  []string
	}{
		"all, in the order of their zxids": {0, []string{"log.1 17", "log.a 17", "log.20 16"}},
		"without those that end before":    {0x10, []string{"log.a 17", "log.20 16"}},
		"the last one at least":            {0x99, []string{"log.20 16"}},
	} {
		t.Run(name, func(t *testing.T) {
			logs, err := txnlog.Untar(bytes.NewReader(archive.Bytes()), test.after)
			check.OK(t, err)
			var got []string
			for _, l := range logs {
				text, err := io.ReadAll(l)
				check.OK(t, err)
				got = append(got, l.(interface{ Name() string }).Name()+" "+strconv.Itoa(len(text)))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := txnlog.Untar(bytes.NewReader(archive.Bytes()[:1000]), 0); err == nil {
		t.Error("no error for half an archive")
	}
}
