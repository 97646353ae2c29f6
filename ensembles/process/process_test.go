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
// id, and waits to be killed. Its value "keep" keeps the ensemble and exits; with "disks",
// each fsync takes an hour.
const ownerEnv = "ZKBENCH_TEST_OWNER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(ownerEnv); kind != "" {
		own(kind)
		return
	}
	check.Main(m)
}

func own(kind string) {
	keep := kind == "keep"
	e, err := Start(context.Background(), ensembles.Options{Members: 2, Keep: keep, Disks: kind == "disks"})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	for _, m := range e.Members {
		if m.Disk != nil {
			_, _, err := m.Disk.Break(time.Hour)
			if err != nil {
				panic(err)
			}
		}
	}
	fmt.Println(e.ID)
	if !keep {
		select {}
	}
}

// startOwner starts another process that owns an ensemble of two members, and returns its record.
func startOwner(t *testing.T, kind string) (*exec.Cmd, state.Record) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+kind)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended: then there is nothing to kill
		_ = cmd.Wait()
		_, err := Sweep(context.Background(), true)
		check.OK(t, err)
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	id := strings.TrimSpace(line)
	if err != nil || strings.HasPrefix(id, "error:") {
		t.Fatalf("the owner did not start an ensemble: %q, %v", line, err)
	}
	return cmd, recorded(t, id)
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

func TestStart_oneMember(t *testing.T) {
	e := up(t, ensembles.Options{Members: 1, Tick: 500 * time.Millisecond})
	ctx, r, m := check.Within(t, time.Minute), recorded(t, e.ID), e.Members[0]
	if len(e.Members) != 1 || m.Name != "zk1" || m.ID != 1 || e.Tick != 500*time.Millisecond {
		t.Errorf("got %+v of tick %v", m, e.Tick)
	}
	if !strings.HasPrefix(e.Version, "3.") || e.Kind != ensembles.Process {
		t.Errorf("got version %q, kind %q", e.Version, e.Kind)
	}
	info, err := os.Stat(r.Dir)
	check.OK(t, err)
	if info.Mode().Perm() != 0o700 || strings.HasSuffix(r.Dir, e.ID) {
		t.Errorf("others can read %s, or guess its name: %v", r.Dir, info.Mode())
	}
	t.Run("it has a namespace of its own", func(t *testing.T) { testNamespace(t, e) })
	t.Run("configuration and log are saved, and the log is of both lives", func(t *testing.T) {
		check.OK(t, m.Machine.Kill(ctx))
		check.OK(t, m.Machine.Start(ctx))
		awaitMode(t, m, "leader")
		dir := t.TempDir()
		check.OK(t, m.Machine.Save(ctx, dir))
		cfg, err := os.ReadFile(filepath.Join(dir, "zk1.cfg"))
		check.OK(t, err)
		check.Contains(t, string(cfg), "tickTime=500\n")
		log, err := os.ReadFile(filepath.Join(dir, "zk1.log"))
		check.OK(t, err)
		if n := strings.Count(string(log), "Starting quorum peer"); n < 2 {
			t.Errorf("the log has %d starts, want 2 at least", n)
		}
	})
	t.Run("Down leaves nothing, also for a cancelled context", func(t *testing.T) {
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		check.OK(t, e.Down(cancelled))
		check.OK(t, e.Down(cancelled))
		nothingLeft(t, r)
	})
}

func TestStart_interruptedLeavesNothing(t *testing.T) {
	tmp := t.TempDir() // other programs use the folder of all
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Start(ctx, ensembles.Options{Logf: func(string, ...any) { cancel() }}) // the first line: the network stands
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	records, err := state.List()
	check.OK(t, err)
	left, err := os.ReadDir(tmp)
	check.OK(t, err)
	if len(records) != 0 || len(left) != 0 {
		t.Errorf("left behind: %+v, %v", records, left)
	}
}

func TestStart_refusesWrongOptions(t *testing.T) {
	for want, o := range map[string]ensembles.Options{
		"between 1 and 29":                   {Members: 30},
		"the folder /nowhere does not exist": {Home: "/nowhere"},
	} {
		_, err := Start(context.Background(), o)
		check.Error(t, err, want)
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
		os.Args[0], "-test.run=^(TestMachine_killsStopsAndPauses|TestStart_oneMember)$", "-test.v")
	out, err := cmd.CombinedOutput()
	check.Contains(t, string(out), "all members share 127.0.0.1", "operation not permitted",
		"--- PASS: TestMachine_killsStopsAndPauses", "--- PASS: TestStart_oneMember")
	check.OK(t, err)
}

// BenchmarkStart measures the time from nothing to three members that serve.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		e, err := Start(context.Background(), ensembles.Options{})
		check.OK(b, err)
		b.StopTimer()
		check.OK(b, e.Down(context.Background()))
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

func TestZooCfg_suitsTheNetwork(t *testing.T) {
	r := &state.Record{Dir: "/tmp/d"}
	check.Contains(t, zooCfg(r, state.Member{Name: "zk1", NetNS: "/run/netns/a"}), "quorumListenOnAllIPs=true\n")
	// On loopback a member is not open to the outside.
	check.Contains(t, zooCfg(r, state.Member{Name: "zk2"}), "quorumListenOnAllIPs=false\n", "dataDir=/tmp/d/zk2/data\n")
}
