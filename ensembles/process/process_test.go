//go:build linux

package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

// ownerEnv makes this test binary an owner: it starts an ensemble, prints its
// id, and waits to be killed. Its value "keep" keeps the ensemble and exits.
const ownerEnv = "ZKBENCH_TEST_OWNER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(ownerEnv); kind != "" {
		own(kind == "keep")
		return
	}
	check.Main(m)
}

func own(keep bool) {
	e, err := Start(context.Background(), ensembles.Options{Keep: keep})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(e.ID)
	if !keep {
		select {}
	}
}

// startOwner starts another process that owns an ensemble, and returns its id.
func startOwner(t *testing.T, kind string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+kind)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended: then there is nothing to kill
		_ = cmd.Wait()
		if _, err := Sweep(context.Background(), true); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	id := strings.TrimSpace(line)
	if err != nil || strings.HasPrefix(id, "error:") {
		t.Fatalf("the owner did not start an ensemble: %q, %v", line, err)
	}
	return cmd, id
}

// up starts an ensemble that ends with the test.
func up(tb testing.TB, o ensembles.Options) *ensembles.Ensemble {
	tb.Helper()
	o.Logf = tb.Logf
	e, err := Start(check.Within(tb, time.Minute), o)
	check.OK(tb, err)
	check.Down(tb, e)
	return e
}

func TestStart_leavesNothingBehind(t *testing.T) {
	t.Run("members have the names, ids and tick that were asked for, and Down leaves nothing", func(t *testing.T) {
		e, err := Start(check.Within(t, time.Minute), ensembles.Options{Members: 1, Tick: 500 * time.Millisecond, Logf: t.Logf})
		check.OK(t, err)
		r := recorded(t, e.ID)
		if len(e.Members) != 1 || e.Members[0].Name != "zk1" || e.Members[0].ID != 1 || e.Tick != 500*time.Millisecond {
			t.Errorf("got %+v of tick %v", e.Members[0], e.Tick)
		}
		if !strings.HasPrefix(e.Version, "3.") || e.Kind != ensembles.Process {
			t.Errorf("got version %q, kind %q", e.Version, e.Kind)
		}
		check.OK(t, e.Down(context.Background()))
		check.OK(t, e.Down(context.Background()))
		nothingLeft(t, r)
	})
	t.Run("an interrupted start leaves nothing", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		before, err := filepath.Glob(filepath.Join(os.TempDir(), "zkbench-*"))
		check.OK(t, err)
		_, err = Start(ctx, ensembles.Options{Logf: func(string, ...any) { cancel() }}) // the first line: the network stands
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		records, err := state.List()
		check.OK(t, err)
		after, err := filepath.Glob(filepath.Join(os.TempDir(), "zkbench-*"))
		check.OK(t, err)
		if len(records) != 0 || len(after) > len(before) {
			t.Errorf("left behind: %+v, %v", records, after)
		}
	})
	t.Run("down works for a cancelled context", func(t *testing.T) {
		e := up(t, ensembles.Options{Members: 1})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r := recorded(t, e.ID)
		check.OK(t, e.Down(ctx))
		nothingLeft(t, r)
	})
	for _, test := range []struct {
		name    string
		options ensembles.Options
		want    string
	}{
		{"too many members do not fit the network", ensembles.Options{Members: 30}, "between 1 and 29"},
		{"a negative number of members", ensembles.Options{Members: -1}, "between 1 and 29"},
		{"a tick below ZooKeeper's unit", ensembles.Options{Tick: time.Microsecond}, "whole milliseconds"},
		{"a folder that holds no distribution", ensembles.Options{Home: "/nowhere"}, "the folder /nowhere does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Start(context.Background(), test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

// nothingLeft fails when a trace of the ensemble is still on this machine.
func nothingLeft(t *testing.T, r state.Record) {
	t.Helper()
	if left := state.FindAll(ensembleArg(r.ID)); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	paths := []string{r.Dir}
	for _, name := range r.Namespaces {
		paths = append(paths, netNSPath(&r, name))
	}
	for _, link := range r.Links {
		paths = append(paths, filepath.Join("/sys/class/net", link))
	}
	for _, path := range paths {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left behind: %s (%v)", path, err)
		}
	}
	records, err := state.List()
	check.OK(t, err)
	if slices.ContainsFunc(records, func(left state.Record) bool { return left.ID == r.ID }) {
		t.Error("the record is left")
	}
}

// TestStart_worksWithoutRights runs the machine's tests again in a process that may
// not make network namespaces.
func TestStart_worksWithoutRights(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("without root the other tests run without rights already")
	}
	cmd := exec.Command("setpriv", "--bounding-set=-net_admin,-sys_admin",
		os.Args[0], "-test.run=^(TestMachine_killsStopsAndPauses|TestMember_hasItsOwnNamespace)$", "-test.v")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"all members share 127.0.0.1", "--- PASS: TestMachine_killsStopsAndPauses", "operation not permitted"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}

// BenchmarkStart measures the time from nothing to three members that serve.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		e, err := Start(context.Background(), ensembles.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := e.Down(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// Another user of this machine may plant a folder, or a link to one, under every name
// that can be guessed.
func TestStart_usesNoFolderThatIsThere(t *testing.T) {
	planted, elsewhere := filepath.Join(t.TempDir(), "planted"), t.TempDir()
	check.OK(t, os.Symlink(elsewhere, planted))
	record, err := setup.New(ensembles.Process, ensembles.Options{})
	check.OK(t, err)
	record.Command, record.Dir = []string{"java"}, planted
	l := &localEnsemble{record: record}
	t.Cleanup(func() { check.OK(t, l.down(context.Background())) })
	if _, err := l.start(check.Within(t, time.Minute), t.Logf); !errors.Is(err, fs.ErrExist) {
		t.Errorf("started in a folder that was there: %v", err)
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 0 {
		t.Errorf("it wrote %v (%v)", left, err)
	}
}

func TestStart_hasAFolderThatNobodyElseCanRead(t *testing.T) {
	e := up(t, ensembles.Options{Members: 1})
	dir := recorded(t, e.ID).Dir
	info, err := os.Stat(dir)
	check.OK(t, err)
	if info.Mode().Perm() != 0o700 || strings.HasSuffix(dir, e.ID) {
		t.Errorf("%s is %v", dir, info.Mode())
	}
}

func TestZooCfg_suitsTheNetwork(t *testing.T) {
	r := &state.Record{Dir: "/tmp/d", Members: []state.Member{
		{Name: "zk1", NetNS: "/run/netns/a"},
		{Name: "zk2"},
	}}
	for name, test := range map[string]struct {
		member state.Member
		want   string
	}{
		"in a namespace a member listens on all addresses": {r.Members[0], "quorumListenOnAllIPs=true\n"},
		"on loopback a member is not open to the outside":  {r.Members[1], "quorumListenOnAllIPs=false\n"},
		"each member has a data folder of its own":         {r.Members[1], "dataDir=/tmp/d/zk2/data\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := zooCfg(r, test.member); !strings.Contains(got, test.want) {
				t.Errorf("no %q in\n%s", test.want, got)
			}
		})
	}
}
