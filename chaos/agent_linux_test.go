package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/moby/moby/client"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/ensembles/txnlog"
)

// agentIn runs an agent in the namespace until its input ends, and returns its answers.
func agentIn(t *testing.T, ns *namespace, in io.Reader) (answers []answer, err error) {
	t.Helper()
	var out bytes.Buffer
	ns.inside(t, func() error {
		err = runAgent(in, &out, "agent")
		return nil
	})
	lines := json.NewDecoder(&out)
	for {
		var a answer
		if lines.Decode(&a) != nil {
			return answers, err
		}
		answers = append(answers, a)
	}
}

func TestRunAgent_carriesOutOrders(t *testing.T) {
	ns := newNamespace(t)
	l := ns.listen(t, ns.there)
	in, orders := io.Pipe()
	go func() {
		enc := json.NewEncoder(orders)
		enc.Encode(order{Do: "cut", Rule: packetRule{Direction: inOnly, Peers: []netip.Addr{ns.here}}})
		enc.Encode(order{Do: "owners"})
		if connects(l) {
			t.Error("not cut")
		}
		enc.Encode(order{Do: "dropped", Cut: 1})
		enc.Encode(order{Do: "dropped", Cut: 7})
		enc.Encode(order{Do: "dance"})
		enc.Encode(order{Do: "cut", Rule: packetRule{Direction: "sideways"}})
		orders.Close()
	}()
	got, err := agentIn(t, ns, in)
	must(t, err)
	if len(got) != 7 || got[1].Cut != 1 || len(got[2].Owners) != 1 || got[2].Owners[0] != "agent" || got[3].Dropped == 0 {
		t.Fatalf("answers %+v", got)
	}
	for i, want := range []string{"cut 7 does not exist: it was healed or never made", `unknown order "dance"`, `"sideways" is unknown`} {
		if !strings.Contains(got[4+i].Err, want) {
			t.Errorf("no %q in %q", want, got[4+i].Err)
		}
	}
	if !connects(l) {
		t.Error("the end of its input did not heal what it cut")
	}
}

func TestRunAgent_healsOnGarbage(t *testing.T) {
	ns := newNamespace(t)
	l := ns.listen(t, ns.there)
	if _, err := agentIn(t, ns, strings.NewReader(`{"do":"cut"} what?`)); err == nil || !strings.Contains(err.Error(), "read an order") {
		t.Errorf("got %v", err)
	}
	if !connects(l) {
		t.Error("still cut")
	}
}

func FuzzAgentOrders(f *testing.F) {
	f.Add([]byte(`{"do":"heal","cut":3}`))
	f.Add([]byte(`{"do":"cut","rule":{"peers":["10.0.0.1","::1"],"except":["x"],"loss":-1}}`))
	f.Add([]byte(`{"do":"delay","delay":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var o order
		if json.Unmarshal(in, &o) != nil {
			return
		}
		if err := o.Rule.check(); err != nil {
			return
		}
		again, err := json.Marshal(o)
		must(t, err)
		var b order
		must(t, json.Unmarshal(again, &b))
		if o.Rule.String() != b.Rule.String() || o.Do != b.Do || o.Cut != b.Cut {
			t.Errorf("%+v became %+v", o, b)
		}
	})
}

// contained starts an ensemble of one member in a container.
func contained(t testing.TB) *ensembles.Ensemble {
	t.Helper()
	if err := container.Available(t.Context()); err != nil {
		t.Skip(err)
	}
	e, err := container.Start(t.Context(), ensembles.Options{Members: 1})
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	return e
}

func TestNetwork_cutsAContainer(t *testing.T) {
	e := contained(t)
	m := e.Members[0]
	n, err := NewNetwork(t.Context(), e)
	must(t, err)
	defer func() { must(t, n.Close(context.Background())) }()
	if !answers(m.IP) {
		t.Fatal("no answer before the cut")
	}
	c, err := n.cut(t.Context(), m, packetRule{})
	must(t, err)
	if answers(m.IP) {
		t.Error("an answer in spite of the cut")
	}
	if d, err := c.dropped(t.Context()); err != nil || d == 0 {
		t.Errorf("dropped %d packets, %v", d, err)
	}
	must(t, c.remove(t.Context()))
	must(t, c.remove(t.Context()))
	if !answers(m.IP) {
		t.Error("no answer after the heal")
	}
	if _, err := n.cut(t.Context(), m, packetRule{Direction: "sideways"}); err == nil {
		t.Error("an unknown direction was accepted")
	}
}

func TestNetwork_followsAContainerThatStartsAgain(t *testing.T) {
	e := contained(t)
	m := e.Members[0]
	n, err := NewNetwork(t.Context(), e)
	must(t, err)
	defer func() { must(t, n.Close(context.Background())) }()
	old, err := n.cut(t.Context(), m, packetRule{})
	must(t, err)
	must(t, m.Machine.Kill(t.Context()))
	must(t, m.Machine.Start(t.Context()))
	if !answers(m.IP) {
		t.Fatal("a new namespace was born cut off")
	}
	c, err := n.cut(t.Context(), m, packetRule{})
	must(t, err)
	if answers(m.IP) {
		t.Error("the cut missed the new namespace")
	}
	if err := old.remove(t.Context()); !errors.Is(err, errVanished) {
		t.Errorf("the cut of the old namespace was not missed when it was healed: %v", err)
	}
	if answers(m.IP) {
		t.Error("healing the cut of the old namespace healed the new one")
	}
	must(t, c.remove(t.Context()))
	if !answers(m.IP) {
		t.Error("no answer after the heal")
	}
}

// The agent must not outlive whoever started it, and neither must its cuts.
func TestNetwork_leavesNothingWhenItsOwnerIsKilled(t *testing.T) {
	e := contained(t)
	m := e.Members[0]
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "ZKBENCH_TEST_CHILD=cut container", "ZKBENCH_TEST_CONTAINER="+m.ContainerID, "ZKBENCH_TEST_ENSEMBLE="+e.ID)
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe() // open until the child is killed
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "cut\n" || answers(m.IP) {
		t.Errorf("the child said %q, and the container answers", line)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	begin := time.Now()
	within(t, 10*time.Second, "the partition heals", func() bool { return answers(m.IP) })
	t.Logf("healed %v after SIGKILL", time.Since(begin))
	docker, err := client.New(client.FromEnv)
	must(t, err)
	defer docker.Close()
	within(t, 10*time.Second, "the agent's container goes", func() bool {
		list, err := docker.ContainerList(t.Context(), client.ContainerListOptions{
			All: true, Filters: client.Filters{}.Add("label", "zkbench.ensemble="+e.ID),
		})
		return err == nil && len(list.Items) == 1 // the member
	})
}

func init() { children["cut container"] = cutContainerAndWait }

func cutContainerAndWait() {
	container.Available(context.Background()) // keeps testcontainers quiet
	m := &ensembles.Member{Name: "box", ContainerID: os.Getenv("ZKBENCH_TEST_CONTAINER")}
	n, err := NewNetwork(context.Background(), &ensembles.Ensemble{ID: os.Getenv("ZKBENCH_TEST_ENSEMBLE"), Members: []*ensembles.Member{m}})
	if err == nil {
		_, err = n.cut(context.Background(), m, packetRule{})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("cut")
	io.Copy(io.Discard, os.Stdin)
}

func TestNewNetwork_saysWhatItCannotCut(t *testing.T) {
	for _, row := range []struct {
		name, want string
		member     ensembles.Member
	}{
		{"a member without a network of its own", "not have a separate network", ensembles.Member{Name: "zk1"}},
		{"a namespace that is gone", "no longer exists", ensembles.Member{Name: "zk1", NetNS: "/run/netns/zkbench-nobody"}},
		{"a container that is gone", "inspect its container", ensembles.Member{Name: "zk1", ContainerID: "nobody"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := NewNetwork(t.Context(), &ensembles.Ensemble{Members: []*ensembles.Member{&row.member}})
			if !errors.Is(err, ErrSkipped) || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "zk1") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// lent returns a real ensemble as somebody else's, whose file names commands for every
// member: a script drives them.
func lent(t *testing.T) Target {
	t.Helper()
	e := ensemble(t, ensembles.Options{Tick: tick})
	script, err := filepath.Abs("testdata/member.sh")
	must(t, err)
	text := "members:\n"
	for _, m := range e.Members {
		if m.NetNS == "" {
			t.Skip("members share one network here")
		}
		dir := t.TempDir()
		process := state.FindAll("-Dzkbench.member=" + e.ID + "/" + m.Name)[0]
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", process.PID))
		must(t, err)
		for name, content := range map[string]string{
			"pid": strconv.Itoa(process.PID), "net": m.NetNS, "command": string(bytes.ReplaceAll(command, []byte{0}, []byte("\n"))),
		} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		text += "  - server: " + m.Addr + "\n"
		for _, word := range []string{"start", "stop", "kill", "pause", "resume", "isolate", "heal", "log"} {
			text += fmt.Sprintf("    %s: [%s, %s, %s, %q]\n", word, script, dir, word, map[bool]string{true: "{peers}"}[word == "isolate"])
		}
	}
	file := filepath.Join(t.TempDir(), "theirs.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	o, err := external.Load(file)
	must(t, err)
	theirs, err := external.Start(t.Context(), o)
	must(t, err)
	network, err := NewNetwork(t.Context(), theirs)
	must(t, err)
	t.Cleanup(func() { must(t, network.Close(context.Background())) })
	return Target{Ensemble: theirs, Network: network}
}

func TestCommands_driveSomebodyElsesMembers(t *testing.T) {
	target := lent(t)
	for _, fault := range []string{"member.kill", "member.pause", "partition.isolate", "partition.peers"} {
		t.Run(fault, func(t *testing.T) {
			e := inject(t, parse(t, fault, Leader), target)
			m := hit(t, target, e)
			if mode := modes(t.Context(), []memberRule{{targetMember: targetMember{Member: m}}})[m.Name]; mode != "" {
				t.Errorf("%s still is %s", m.Name, mode)
			}
			heal(t, target, e)
		})
	}
	t.Run("their transaction logs are read", func(t *testing.T) {
		conn, _, err := zk.Connect(target.Ensemble.Servers(), 4*time.Second, zk.WithLogger(quiet{}))
		must(t, err)
		defer conn.Close()
		_, err = conn.Create("/committed", nil, 0, zk.WorldACL(zk.PermAll))
		must(t, err)
		var paths []string
		s, err := ensembles.Commits(t.Context(), target.Ensemble, 0, func(e txnlog.Entry) error {
			paths = append(paths, e.Path)
			return nil
		})
		if err != nil || s.Gaps != nil || !slices.Contains(paths, "/committed") {
			t.Errorf("got %+v (%q), %v", s, paths, err)
		}
	})
	t.Run("a cut for which the command has no place is not made", func(t *testing.T) {
		_, err := parse(t, "partition.clients", Leader).Inject(t.Context(), target)
		if err == nil || !strings.Contains(err.Error(), "without {except}") {
			t.Errorf("got %v", err)
		}
		must(t, allServe(t.Context(), target.Ensemble))
	})
	t.Run("what was executed is written down", func(t *testing.T) {
		dir, all := t.TempDir(), ""
		for _, m := range target.Ensemble.Members {
			must(t, m.Machine.Save(t.Context(), dir))
			text, _ := os.ReadFile(filepath.Join(dir, m.Name+".commands"))
			all += string(text)
		}
		for _, want := range []string{" kill: ", " start: ", " pause: ", " resume: ", " isolate: ", " heal: ", " log: "} {
			if !strings.Contains(all, want) {
				t.Errorf("no%sin\n%s", want, all)
			}
		}
	})
}

// A command that ends well and does nothing proves nothing.
func TestCommands_areNotBelieved(t *testing.T) {
	mine := shared(t).Ensemble
	o := ensembles.Options{Servers: mine.Servers()}
	for range mine.Members {
		c := []string{"true"}
		o.External.Commands = append(o.External.Commands, ensembles.Commands{Start: c, Stop: c, Pause: c, Resume: c, Isolate: c, Heal: c})
	}
	theirs, err := external.Start(t.Context(), o)
	must(t, err)
	network, err := NewNetwork(t.Context(), theirs)
	must(t, err)
	defer func() { must(t, network.Close(context.Background())) }()
	_, err = parse(t, "partition.isolate", Leader).Inject(t.Context(), Target{Ensemble: theirs, Network: network})
	if !errors.Is(err, ErrNoEffect) {
		t.Errorf("got %v", err)
	}
}
