package agents

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/site"
)

// Agents over real ssh, on hosts of their own networks and processes.

// zkbench builds the program.
func zkbench(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "zkbench")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "github.com/zkbench/zkbench/cmd/zkbench")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// versionOf is what a built zkbench says of itself to its coordinator.
func versionOf(t *testing.T, program string) string {
	t.Helper()
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	client := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "github.com/go-zookeeper/zk" })
	return fmt.Sprintf("zkbench %s, go %s, client %s %s", info.Main.Version, info.GoVersion, info.Deps[client].Path, info.Deps[client].Version)
}

// rig is three hosts, and zkbench to be run there.
type rig struct {
	net     *testNetwork
	program string
	version string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{net: newNetwork(t, "h1", "h2", "h3"), program: zkbench(t)}
	r.version = versionOf(t, r.program)
	t.Setenv(SSHKey, r.net.SSH)
	return r
}

// journal keeps what a fleet says.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) logf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// says reports whether a line matches.
func (j *journal) says(pattern string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.lines, regexp.MustCompile(pattern).MatchString)
}

// String implements fmt.Stringer.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

// engine has agents be on some hosts.
func (r *rig) engine(t *testing.T, text string, j *journal) Engine {
	t.Helper()
	e, err := ParseEngine(text, Place{Self: []string{r.program}, Owner: "a test", Dir: t.TempDir(), Logf: j.logf})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// muster has agents on all hosts. dismissed takes them away, once.
func (r *rig) muster(t *testing.T) (c *Crew, j *journal, dismiss func()) {
	t.Helper()
	j = &journal{}
	c, err := StartAgents(t.Context(), r.engine(t, "ssh:h1,h2,h3", j), r.version, j.logf)
	if err != nil {
		t.Fatalf("%v\n%s", err, j)
	}
	dismiss = sync.OnceFunc(func() {
		if err := c.Dismiss(); err != nil {
			t.Errorf("dismiss: %v", err)
		}
	})
	t.Cleanup(dismiss)
	return c, j, dismiss
}

// clean wants nothing to be left on any host.
func (r *rig) clean(t *testing.T) {
	t.Helper()
	for _, h := range r.net.Hosts {
		if left := h.Left(); len(left) > 0 {
			t.Errorf("left on %s: %s", h.Name, strings.Join(left, "; "))
		}
	}
}

// loss is what a trial was told of a lost agent.
type loss struct {
	agent   string
	clients []int
}

// begin begins a trial in which each host has one client, a process that sleeps.
func begin(t *testing.T, c *Crew) (trial *Trial, sleepers map[string]site.Process, lost chan loss) {
	t.Helper()
	lost, start := make(chan loss, 3), time.Now()
	trial, err := c.Begin(Options{
		Trial: "a trial", Parent: "/parent", At: func(at time.Time) time.Duration { return at.Sub(start) },
		Lost: func(agent string, clients []int, _ time.Duration) { lost <- loss{agent, clients} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trial.Close)
	sleepers = map[string]site.Process{}
	for n := range 3 {
		at, err := trial.Site(n)
		if err != nil {
			t.Fatal(err)
		}
		if sleepers[at.Name()], err = sleep(t, at); err != nil {
			t.Fatal(err)
		}
	}
	return trial, sleepers, lost
}

func sleep(t *testing.T, at site.Site) (site.Process, error) {
	p, err := at.Start(site.Program{Args: []string{"sleep", "1000"}, Mark: "ZKBENCH_TEST=1"})
	if err == nil {
		t.Cleanup(func() { _, _, _ = p.Stdin().Close(), p.Stdout().Close(), p.Stderr().Close() })
	}
	return p, err
}

// find returns the process ids here of what runs on a host.
func find(h *testHost, command string) (found []int) {
	for pid, line := range h.Processes() {
		if strings.HasPrefix(line, command) {
			found = append(found, pid)
		}
	}
	return found
}

// within wants something to come true, and says how long it took.
func within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	start := time.Now()
	for !is() {
		if time.Since(start) > limit {
			t.Fatalf("after %v it is not so that %s", limit, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("after %v: %s", time.Since(start).Round(10*time.Millisecond), what)
}

// lose wants an agent to be lost, with its client, and nothing to be left where it was.
func lose(t *testing.T, h *testHost, c *Crew, j *journal, lost chan loss, why func() error) {
	t.Helper()
	start := time.Now()
	if err := why(); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-lost:
		t.Logf("after %v: agent %s is lost, with clients %v", time.Since(start).Round(10*time.Millisecond), got.agent, got.clients)
		if got.agent != h.Name || len(got.clients) != 1 {
			t.Errorf("lost agent %s with clients %v, want %s with one", got.agent, got.clients, h.Name)
		}
	case <-time.After(12 * time.Second):
		t.Fatalf("no agent is lost within 12 s:\n%s", j)
	}
	if !j.says(`^lost agent ` + h.Name + `: `) {
		t.Errorf("nothing says that %s is lost:\n%s", h.Name, j)
	}
	within(t, 12*time.Second, "nothing is left on "+h.Name, func() bool { return len(h.Left()) == 0 })
	var there []string
	for _, p := range c.alive() {
		there = append(there, p.name)
	}
	if len(there) != 2 || slices.Contains(there, h.Name) {
		t.Errorf("agents %v are there", there)
	}
}

// others wants the clients of all other agents to be there, and agents that can be used.
func (r *rig) others(t *testing.T, gone *testHost, trial *Trial, sleepers map[string]site.Process) {
	t.Helper()
	for _, h := range r.net.Hosts {
		if h == gone {
			continue
		}
		if n := len(find(h, "sleep")); n != 1 {
			t.Errorf("%d clients are on %s, want 1", n, h.Name)
		}
		select {
		case <-sleepers[h.Name].Exited():
			t.Errorf("the client on %s has ended", h.Name)
		default:
		}
	}
	for n := range 3 {
		at, err := trial.Site(n)
		if err != nil || at.Name() == gone.Name {
			t.Errorf("client %d is to live on %v, %v", n, at, err)
			continue
		}
		if _, err := sleep(t, at); err != nil {
			t.Error(err)
		}
	}
}

func TestSSH_onHosts(t *testing.T) {
	r := newRig(t)
	h1, h2, h3 := r.net.Host("h1"), r.net.Host("h2"), r.net.Host("h3")

	t.Run("three join by their hosts' names, and leave nothing", func(t *testing.T) {
		c, j, dismiss := r.muster(t)
		if got := slices.Sorted(slices.Values(c.Names())); !slices.Equal(got, []string{"h1", "h2", "h3"}) {
			t.Errorf("agents %v", got)
		}
		for i, p := range c.alive() {
			if want := r.net.Hosts[i].Name; p.name != want {
				t.Errorf("agent %d is %s, want %s", i, p.name, want)
			}
		}
		address, err := netip.ParseAddrPort(c.Join("").Address)
		if err != nil || address.Addr() != r.net.Here {
			t.Errorf("they dial %v (%v), want %v: the address of our end of the bridge", address, err, r.net.Here)
		}
		for _, h := range r.net.Hosts {
			if n := len(find(h, "./zkbench agent")); n != 1 {
				t.Errorf("%d agents run on %s: %v", n, h.Name, h.Processes())
			}
		}
		dismiss()
		r.clean(t)
		if j.says("has ended") {
			t.Errorf("agents that were dismissed are said to have ended:\n%s", j)
		}
	})

	t.Run("one that is killed is lost, the others are not", func(t *testing.T) {
		c, j, dismiss := r.muster(t)
		trial, sleepers, lost := begin(t, c)
		lose(t, h2, c, j, lost, func() error {
			return syscall.Kill(find(h2, "./zkbench agent")[0], syscall.SIGKILL)
		})
		r.others(t, h2, trial, sleepers)
		trial.Close()
		dismiss()
		r.clean(t)
	})

	t.Run("one that is cut off is lost, and ends what it has started", func(t *testing.T) {
		c, j, dismiss := r.muster(t)
		trial, sleepers, lost := begin(t, c)
		t.Cleanup(func() { _ = h3.Mend() })
		lose(t, h3, c, j, lost, h3.Cut)
		r.others(t, h3, trial, sleepers)
		trial.Close()
		dismiss()
		r.clean(t)
	})

	t.Run("nothing stays when ssh is killed", func(t *testing.T) {
		_, _, dismiss := r.muster(t)
		for pid := range children(t, "ssh") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for _, h := range r.net.Hosts {
			within(t, 5*time.Second, "nothing is left on "+h.Name, func() bool { return len(h.Left()) == 0 })
		}
		dismiss()
	})

	t.Run("nothing stays when ssh is killed before the program is there", func(t *testing.T) {
		e := r.engine(t, "ssh:h1", &journal{}).(*ssh)
		line := e.command("h1", remoteScript())
		cmd := exec.Command(line[0], line[1:]...)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, feed := feedOf(t, "")
		all, err := io.ReadAll(feed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stdin.Write(all[:len(all)-3]); err != nil {
			t.Fatal(err)
		}
		within(t, 5*time.Second, "h1 has a folder", func() bool { return len(h1.Left()) > 0 })
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		within(t, 5*time.Second, "nothing is left on h1", func() bool { return len(h1.Left()) == 0 })
	})

	for _, row := range []struct{ host, wrong string }{
		{hostRefuses, `agent refuses has ended \(exit status 255\): ssh: connect to host \S+ port 1: Connection refused; have this work without a question: ssh -F \S+ refuses true$`},
		{hostNobody, `agent nobody has ended \(exit status 255\): ssh: connect to host \S+ port 22: (No route to host|Connection timed out)`},
		{hostStranger, `agent stranger has ended \(exit status 255\): root@\S+: Permission denied \(publickey\)`},
		{hostUnknown, `agent unknown has ended \(exit status 255\): Host key verification failed`},
	} {
		t.Run("a host that cannot be had: "+row.host, func(t *testing.T) {
			j := &journal{}
			c, err := StartAgents(t.Context(), r.engine(t, "ssh:h1,"+row.host, j), r.version, j.logf)
			if err == nil {
				t.Error("agents are there", c.Names(), c.Dismiss())
			} else if !regexp.MustCompile(row.wrong).MatchString(err.Error()) {
				t.Errorf("error %q does not match %s", err, row.wrong)
			}
			r.clean(t)
		})
	}
}

// children returns the command lines of our own children of a name.
func children(t *testing.T, name string) map[int]string {
	t.Helper()
	found := map[int]string{}
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tasks {
		text, _ := os.ReadFile(file) // the thread may have ended
		for _, pid := range strings.Fields(string(text)) {
			line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if words := strings.Split(string(line), "\x00"); words[0] == name {
				var id int
				_, _ = fmt.Sscan(pid, &id) // it is a number
				found[id] = strings.Join(words, " ")
			}
		}
	}
	return found
}
