package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// A run folder may come from a stranger. Whatever its files contain, check, report and rerun exit
// with a documented code, within a minute, and without more than a gigabyte.
func FuzzRunFolder(f *testing.F) {
	f.Add(uint8(0), 40, []byte("1"), uint16(1))
	f.Add(uint8(0), 3000, []byte(`{"name":"../../x"},`), uint16(2000))
	f.Add(uint8(1), 100, []byte("- {exec: [sh, -c, id]}\n"), uint16(1))
	f.Add(uint8(2), 900, []byte("/n"), uint16(60000))
	f.Add(uint8(2), 2000, []byte(`{"acquired":{"client":9223372036854775807,"token":-1}}`+"\n"), uint16(3000))
	f.Add(uint8(3), 500, []byte("\x00\xff\"}{"), uint16(1))
	f.Add(uint8(4), 0, []byte("a"), uint16(1))
	f.Fuzz(func(t *testing.T, file uint8, at int, text []byte, times uint16) {
		if len(text)*int(times) > 4<<20 {
			t.Skip("more than a fuzzer should write")
		}
		evaluateChanged(t, file, at, text, times)
	})
}

// For ten seconds, at random: fragments of every file format at any place of any file.
func TestRunFolder_changedAtRandom(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	fragments := []string{"0", "-", "9223372036854775807", "1e308", "null", "{", "}", "[", `"`, "\n", ",", ":", "../", "/", "\x00", "\xff\xfe", "- ", "&a [*a]", "<<: ", "!!binary ",
		`"client":1,`, `"token":-1,`, `"zxid":`, `{"phase":{"name":"x","start":0,"end":1}}` + "\n", `{"end":{}}` + "\n", "trials: 1000000\n", "duration: 100000h\n", "lock-0000000000"}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && !t.Failed(); {
		file, at, text, times := uint8(r.IntN(4)), r.IntN(1<<20), fragments[r.IntN(len(fragments))], uint16(1)
		if r.IntN(4) == 0 {
			times = uint16(r.IntN(20000))
		}
		evaluateChanged(t, file, at, []byte(text), times)
		if t.Failed() {
			t.Logf("file %d, at %d, %q, %d times", file, at, text, times)
		}
	}
}

// evaluateChanged inserts text, repeated, into a file of a run folder, and evaluates the folder.
func evaluateChanged(t *testing.T, file uint8, at int, text []byte, times uint16) {
	t.Helper()
	files := []string{"result.json", "scenario.yaml", "history/herd-lock-predecessor-3.jsonl.zst", "commits/herd-lock-predecessor-3.jsonl.zst"}
	dir := savedRun(t)
	change(t, filepath.Join(dir, files[int(file)%len(files)]), func(content []byte) []byte {
		at := max(0, at) % len(content)
		return slices.Concat(content[:at], bytes.Repeat(text, int(times)), content[at:])
	})
	for _, args := range [][]string{{"check", dir}, {"report", dir}, {"rerun", dir, "--failed", "--ensemble", "process", "--zookeeper-home", dir, "--out", dir + "-again"}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		var said bytes.Buffer
		code := run(t.Context(), args, io.Discard, &said)
		runtime.ReadMemStats(&after)
		if code < 0 || code > exitUnknown {
			t.Errorf("%s: exit code %d: %s", args[0], code, said.String())
		}
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 1<<30 {
			t.Errorf("%s: the heap grew by %d MiB", args[0], grown>>20)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %v", args[0], took)
		}
	}
}
