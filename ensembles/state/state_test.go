package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/rootless"
)

func TestSave_isReadBack(t *testing.T) {
	t.Setenv("ZKBENCH_STATE", filepath.Join(t.TempDir(), "new"))
	r := Record{
		ID: "a1", Kind: ensembles.Process, Owner: Self(), Keep: true,
		Created: time.Now().UTC().Truncate(time.Second), Tick: 2 * time.Second,
		Members: []Member{{Name: "zk1", ID: 1, IP: "198.18.0.2", Ports: [3]int{2181, 2888, 3888}}},
		Dir:     "/tmp/zkbench-a1-x", Namespaces: []string{"zkbench-a1-net"}, Links: []string{"zkba1"},
	}
	check.OK(t, Save(r))
	got, err := List()
	check.OK(t, err)
	r.Host = Host()
	if !reflect.DeepEqual(got, []Record{r}) {
		t.Errorf("saved %+v, listed %+v", r, got)
	}
	r.Version = "3.8.0"
	check.OK(t, Save(r))
	if all, err := List(); err != nil || len(all) != 1 || all[0].Version != "3.8.0" {
		t.Errorf("listed %+v, %v", all, err)
	}
	for _, path := range []string{Dir(), file("a1")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can read %s: %v, %v", path, info.Mode(), err)
		}
	}
	check.OK(t, Remove("a1"))
	check.OK(t, Remove("a1"))
	if left, err := os.ReadDir(Dir()); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSave_saysWhereItCannotWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check.OK(t, os.WriteFile(file, nil, 0o644))
	t.Setenv("ZKBENCH_STATE", file)
	check.Error(t, Save(Record{ID: "a1"}), "set ZKBENCH_STATE")
}

func TestList_leavesOutWhatIsNotOurs(t *testing.T) {
	for _, test := range []struct{ name, file, text, wantErr string }{
		{"a record of another host is not ours", "b2.json", `{"id": "b2", "host": "elsewhere/pid:[1]"}`, ""},
		{"half a record is named", "b2.json", `{"id": "b2", `, "is not a record"},
		{"a record under another's name is named", "b2.json", `{"id": "c3"}`, "record of a different ensemble, \"c3\""},
		{"a record may not name somebody's folder", "b2.json", `{"id": "b2", "dir": "/home/somebody"}`, `the folder "/home/somebody"`},
		{"nor reach one by the way of its own", "b2.json", `{"id": "b2", "dir": "/tmp/zkbench-b2-x/.."}`, "the folder"},
		{"nor a relative one", "b2.json", `{"id": "b2", "dir": "zkbench-b2-x"}`, "the folder"},
		{"a record may not name a mount elsewhere", "b2.json", `{"id": "b2", "namespaces": ["zkbench-b2-/../../../home"]}`, "the network namespace"},
		{"a record may not name another's link", "b2.json", `{"id": "b2", "links": ["eth0"]}`, `the network link "eth0"`},
		{"other files are nobody's business", "notes.txt", `hello`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("ZKBENCH_STATE", t.TempDir())
			check.OK(t, Save(Record{ID: "a1"}))
			check.OK(t, os.WriteFile(filepath.Join(Dir(), test.file), []byte(test.text), 0o644))
			got, err := List()
			if len(got) != 1 || got[0].ID != "a1" {
				t.Errorf("listed %+v, want a1 only", got)
			}
			check.Error(t, err, test.wantErr)
		})
	}
}

func TestDir_needsNoHome(t *testing.T) {
	t.Setenv("ZKBENCH_STATE", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "/home/somebody")
	if got := Dir(); got != "/home/somebody/.cache/zkbench" {
		t.Errorf("got %s", got)
	}
	t.Setenv("HOME", "")
	if got, want := Dir(), filepath.Join(os.TempDir(), fmt.Sprintf("zkbench-%d", os.Geteuid())); got != want {
		t.Errorf("without a home: got %s, want %s", got, want)
	}
}

func TestRecord_describesAnEnsemble(t *testing.T) {
	r := Record{ID: "a1", Kind: ensembles.Container, About: "an image", Tick: time.Second, Members: []Member{
		{Name: "zk1", ID: 1, IP: "172.18.0.10", Ports: [3]int{2181, 2888, 3888}},
		{Name: "zk2", ID: 2, IP: "172.18.0.11", Ports: [3]int{2181, 2888, 3888}, Published: 20001},
	}}
	e := r.Ensemble()
	if e.ID != r.ID || e.Kind != r.Kind || e.Tick != r.Tick || e.Members[0].Machine != nil {
		t.Errorf("got %+v", e)
	}
	if want := []string{"172.18.0.10:2181", "127.0.0.1:20001"}; !reflect.DeepEqual(e.Servers(), want) {
		t.Errorf("clients dial %v, want %v", e.Servers(), want)
	}
	check.OK(t, e.Down(t.Context()))
}

func TestRecord_knowsWhetherItsOwnerLives(t *testing.T) {
	self := Self()
	for name, test := range map[string]struct {
		owner, host string
		want        bool
	}{
		"this process lives":                                   {self.String(), Host(), true},
		"a process with our id from before is dead":            {fmt.Sprintf("%d:before", self.PID), Host(), false},
		"an id that is not in use is dead":                     {"4194304:1", Host(), false}, // one above the highest that Linux gives
		"a text that names no process is nobody":               {"somebody", Host(), false},
		"nobody knows about a process on another machine":      {"4194304:1", "elsewhere/pid:[1]", true},
		"a record without a host is of this machine":           {"4194304:1", "", false},
		"process 0 and negative ones are never taken for ours": {"-1:", Host(), false},
	} {
		if got := (Record{Owner: ParseProcess(test.owner), Host: test.host}).OwnerAlive(); got != test.want {
			t.Errorf("%s: alive: %v", name, got)
		}
	}
}

// What a record names is removed, and its command is run: a folder to which somebody else
// can write is not believed.
func TestList_believesNobodyElse(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"a folder that everybody may write to", func(t *testing.T, dir string) {
			check.OK(t, os.Mkdir(dir, 0o700))
			check.OK(t, os.Chmod(dir, 0o777))
		}, "is writable by other users"},
		{"a link to a folder", func(t *testing.T, dir string) {
			check.OK(t, os.Symlink(t.TempDir(), dir))
		}, "is not a folder"},
		{"another user's folder", func(t *testing.T, dir string) {
			if os.Geteuid() != 0 || rootless.Inside() {
				t.Skip("only the machine's root can make another user's folder")
			}
			check.OK(t, os.Mkdir(dir, 0o700))
			check.OK(t, os.Chown(dir, 4711, -1))
		}, "belongs to user 4711"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "records")
			t.Setenv("ZKBENCH_STATE", dir)
			test.make(t, dir)
			check.OK(t, os.WriteFile(filepath.Join(dir, "a1.json"), fmt.Appendf(nil, `{"id": "a1", "host": %q}`, Host()), 0o644))
			got, err := List()
			check.Error(t, err, test.want)
			if len(got) != 0 {
				t.Errorf("listed %v", got)
			}
			check.Error(t, Save(Record{ID: "b2"}), "set ZKBENCH_STATE")
		})
	}
}

func TestAcquire_sharesOrRefuses(t *testing.T) {
	for _, row := range []struct {
		about         string
		first, second bool // exclusive
		refused       bool
	}{
		{"two without such faults", false, false, false},
		{"one with, beside one without", false, true, true},
		{"one without, beside one with", true, false, true},
		{"two with", true, true, true},
	} {
		t.Run(row.about, func(t *testing.T) {
			t.Setenv("ZKBENCH_STATE", t.TempDir())
			first, err := Acquire("one", "churn", row.first)
			check.OK(t, err)
			second, err := Acquire("one", "partition", row.second)
			if !row.refused {
				check.OK(t, err)
				check.OK(t, second())
			} else if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "(churn)") {
				t.Errorf("got %v, want it refused, and named who is in the way", err)
			}
			other, err := Acquire("other", "partition", true)
			check.OK(t, err)
			check.OK(t, other())
			check.OK(t, first())
			again, err := Acquire("one", "partition", true)
			check.OK(t, err)
			check.OK(t, again())
			if left, err := os.ReadDir(Dir()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
