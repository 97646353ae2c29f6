package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestSave(t *testing.T) {
	t.Setenv("ZKBENCH_STATE", filepath.Join(t.TempDir(), "new"))
	r := Record{
		ID: "a1", Kind: ensembles.Process, Owner: Self(), Keep: true,
		Created: time.Now().UTC().Truncate(time.Second), Tick: 2 * time.Second,
		Members: []Member{{Name: "zk1", ID: 1, IP: "198.18.0.2", Ports: [3]int{2181, 2888, 3888}}},
		Dir:     "/tmp/zkbench-a1", Namespaces: []string{"zkbench-a1-net"}, Links: []string{"zkba1"},
	}
	check(t, Save(r))
	got, err := Load("a1")
	check(t, err)
	r.Host = host()
	if !reflect.DeepEqual(got, r) {
		t.Errorf("saved %+v, loaded %+v", r, got)
	}
	r.Version = "3.8.0"
	check(t, Save(r))
	all, err := List()
	check(t, err)
	if len(all) != 1 || all[0].Version != "3.8.0" {
		t.Errorf("listed %+v", all)
	}
	check(t, Remove("a1"))
	check(t, Remove("a1"))
	if _, err := Load("a1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(Dir())
	check(t, err)
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSave_unwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o644))
	t.Setenv("ZKBENCH_STATE", file)
	if err := Save(Record{ID: "a1"}); err == nil || !strings.Contains(err.Error(), "set ZKBENCH_STATE") {
		t.Errorf("got %v", err)
	}
}

func TestList(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		wantErr          string
	}{
		{"a record of another host is not ours", "b2.json", `{"id": "b2", "host": "elsewhere/pid:[1]"}`, ""},
		{"half a record is named", "b2.json", `{"id": "b2", `, "is not a record"},
		{"a record under another's name is named", "b2.json", `{"id": "c3"}`, "record of ensemble \"c3\""},
		{"other files are nobody's business", "notes.txt", `hello`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("ZKBENCH_STATE", t.TempDir())
			check(t, Save(Record{ID: "a1"}))
			check(t, os.WriteFile(filepath.Join(Dir(), test.file), []byte(test.text), 0o644))
			got, err := List()
			if len(got) != 1 || got[0].ID != "a1" {
				t.Errorf("listed %+v, want a1 only", got)
			}
			if (err != nil) != (test.wantErr != "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("got %v, want %q in it", err, test.wantErr)
			}
		})
	}
}

func TestDir(t *testing.T) {
	t.Setenv("ZKBENCH_STATE", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "/home/somebody")
	if got := Dir(); got != "/home/somebody/.cache/zkbench" {
		t.Errorf("got %s", got)
	}
	t.Setenv("HOME", "")
	if got, want := Dir(), filepath.Join(os.TempDir(), "zkbench"); got != want {
		t.Errorf("without a home: got %s, want %s", got, want)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
