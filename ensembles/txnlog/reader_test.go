package txnlog

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

var padding = make([]byte, 1<<17)

func TestReader_endsWhereTheLogDoes(t *testing.T) {
	one, two := created(1, "/a"), created(2, "/b")
	flipped := slices.Clone(two)
	flipped[40] ^= 1
	unended := slices.Clone(two)
	unended[len(unended)-1] = 0
	for name, test := range map[string]struct {
		file []byte
		want int // entries
		torn int
		err  string
	}{
		"at the end of the file":                       {logFile(one, two), 2, 0, ""},
		"at zeros":                                     {logFile(one, two, padding), 2, 0, ""},
		"at a few zeros":                               {logFile(one, two, padding[:5]), 2, 0, ""},
		"nothing is in it but the header":              {logFile(padding), 0, 0, ""},
		"the server died before the header":            {nil, 0, 0, ""},
		"the server died within the header":            {logFile()[:9], 0, 1, ""},
		"the file is cut within an entry":              {logFile(one, two[:30]), 1, 1, ""},
		"the file is cut within a checksum":            {logFile(one, two[:6]), 1, 1, ""},
		"half an entry, then zeros":                    {logFile(one, two[:30], padding), 1, 1, ""},
		"a checksum, then zeros":                       {logFile(one, two[:8], padding), 1, 1, ""},
		"the last entry has the wrong checksum":        {logFile(one, flipped, padding), 1, 1, ""},
		"the last entry has no end":                    {logFile(one, unended, padding), 1, 1, ""},
		"an entry in the middle is damaged":            {logFile(one, flipped, created(3, "/c"), padding), 1, 0, "byte 84, after zxid 0x1: the entry is damaged: its checksum is"},
		"an entry in the middle has no end":            {logFile(one, unended, created(3, "/c")), 1, 0, "its last byte is missing"},
		"a length is negative":                         {logFile(one, pack(int64(1), int32(-5)), two), 1, 0, "its length is -5"},
		"a length is more than the file has":           {logFile(one, pack(int64(1), int32(1<<31-2)), two), 1, 1, ""},
		"the file is something else":                   {[]byte("this is a snapshot"), 0, 0, `it begins with "this"`},
		"the file is of a version that nobody writes":  {pack([]byte("ZKLG"), int32(3), int64(0)), 0, 0, "version 3"},
		"damage far behind, beyond what is read ahead": {logFile(one, flipped, padding, two), 1, 0, "byte 84"},
	} {
		t.Run(name, func(t *testing.T) {
			got, r, err := readAll(0, test.file)
			if len(got) != test.want || r.TruncatedFiles != test.torn {
				t.Errorf("%d entries, %d torn; want %d, %d", len(got), r.TruncatedFiles, test.want, test.torn)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %q in it", err, test.err)
			}
			if _, again := r.Next(); err != nil && again != err || err == nil && again != io.EOF {
				t.Errorf("after %v it says %v", err, again)
			}
		})
	}
}

func TestReader_joinsFiles(t *testing.T) {
	first := logFile(created(1, "/a"), created(2, "/b"), created(3, "/c")[:20], padding) // killed, and started again
	second := logFile(created(2, "/b"), created(3, "/c"), created(1<<32+1, "/d"))
	got, r, err := readAll(0, first, nil, second)
	if want := []int64{1, 2, 3, 1<<32 + 1}; err != nil || !slices.Equal(zxids(got), want) || r.TruncatedFiles != 1 {
		t.Errorf("got %#x, %v, %d torn; want %#x", zxids(got), err, r.TruncatedFiles, want)
	}
	got, _, err = readAll(2, first, second)
	if want := []int64{3, 1<<32 + 1}; err != nil || !slices.Equal(zxids(got), want) {
		t.Errorf("after 2: got %#x, %v; want %#x", zxids(got), err, want)
	}
}

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
	for _, e := range all {
		got = append(got, fmt.Sprintf("%#x %d %v %s %q %d parts %v", e.Zxid, e.Cxid, e.Type, e.Path, e.Data, len(e.Parts), e.Removed))
	}
	want := []string{
		`0x100000001 0 open-session  "" 0 parts []`,
		`0x100000002 1 create /a "x" 0 parts []`,
		`0x100000003 2 create /a/s-0000000000 "y" 0 parts []`,
		`0x100000004 3 create /c "" 0 parts []`,
		`0x100000005 4 set-data /a "new" 0 parts []`,
		`0x100000006 5 set-acl /a "" 0 parts []`,
		`0x100000007 6 error  "" 0 parts []`,
		`0x100000008 7 delete /a/s-0000000000 "" 0 parts []`,
		`0x100000009 8 multi  "" 4 parts []`,
		`0x10000000a 9 multi  "" 3 parts []`,
		`0x10000000b 10 create /a/e "" 0 parts []`,
		`0x10000000c 11 close-session  "" 0 parts [/a/e]`,
		`0x10000000d 0 open-session  "" 0 parts []`,
		`0x10000000e 1 create /k "" 0 parts []`,
		`0x10000000f 0 close-session  "" 0 parts [/k]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

type namedReader struct{ io.Reader }

func (namedReader) Name() string { return "log.1" }

func TestReader_saysWhichFileCannotBeRead(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, file := range map[string]io.Reader{
		"in the header": iotest.ErrReader(broken),
		"in an entry":   io.MultiReader(bytes.NewReader(logFile(created(1, "/a")[:50])), iotest.ErrReader(broken)),
		"in the end":    io.MultiReader(bytes.NewReader(logFile(created(1, "/a"))), iotest.ErrReader(broken)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := remaining(NewReader(0, namedReader{file}))
			if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "log.1, byte ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// FuzzReader reads any bytes as a file, and as a transaction whose frame is right.
// It must not fail on the latter, nor take memory that the bytes do not account for.
func FuzzReader(f *testing.F) {
	recorded, err := os.ReadFile("testdata/zookeeper-3.8.0.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recorded)
	f.Add(logFile(created(1, "/a"), created(2, "/b")))
	f.Add(txn(1, 14, int32(2), int32(2), "/a", int32(-1), "\xff\xff\xff\x9b"))
	f.Add(txn(1, -11, int32(2), "/a", "/b"))
	f.Add(txn(1, 7, "/a", int32(1<<31-1), int32(31)))
	f.Add(pack([]byte("ZKLG"), int32(2), int64(0), int64(1), int32(1<<31-1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		bound := uint64(1<<18 + 128*len(b))
		if used := allocated(func() { _, _, _ = readAll(0, b) }); used > bound { // whatever it says
			t.Errorf("a file of %d bytes took %d bytes of memory", len(b), used)
		}
		if len(b) == 0 {
			return // length 0 is the end
		}
		file := logFile(entry(b))
		used := allocated(func() {
			if _, r, err := readAll(0, file); err != nil || r.TruncatedFiles > 0 {
				t.Errorf("got %v, %d torn", err, r.TruncatedFiles)
			}
		})
		if used > bound {
			t.Errorf("a transaction of %d bytes took %d bytes of memory", len(b), used)
		}
	})
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// BenchmarkReader reads a log of locks: create, delete, set-data in turn.
func BenchmarkReader(b *testing.B) {
	const n = 100_000
	file := lockLog(n)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(0, bytes.NewReader(file))
		for range n {
			if _, err := r.Next(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

func lockLog(n int64) []byte {
	digest := pack(int32(2), int64(0x1234567890))
	acl := pack(int32(1), int32(31), "world", "anyone")
	var entries [][]byte
	for i := int64(1); i <= n; i++ {
		const path = "/zkbench/herd-1/lock/_c_0123456789abcdef0123456789abcdef-lock-0000000001"
		switch i % 3 {
		case 0:
			entries = append(entries, entry(txn(i, 15, path, "client-1", acl, true, int32(1), digest)))
		case 1:
			entries = append(entries, entry(txn(i, 5, "/zkbench/herd-1/resource", "4294967301", int32(i), digest)))
		case 2:
			entries = append(entries, entry(txn(i, 2, path, digest)))
		}
	}
	return logFile(entries...)
}

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
