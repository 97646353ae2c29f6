package network

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
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
)

// agentIn runs an agent in the namespace until its input ends, and returns its answers.
func agentIn(t *testing.T, ns *namespace, in io.Reader) (answers []answer, err error) {
	t.Helper()
	var out bytes.Buffer
	ns.inside(t, func() error {
		err = runAgent(in, &out)
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
		enc.Encode(order{Do: "cut", Rule: Rule{Direction: In, Peers: []netip.Addr{ns.here}}})
		enc.Encode(order{Do: "heal", Cut: 7}) // read after the cut is made
		if connects(l) {
			t.Error("not cut")
		}
		enc.Encode(order{Do: "dropped", Cut: 1})
		enc.Encode(order{Do: "dropped", Cut: 7})
		enc.Encode(order{Do: "dance"})
		orders.Close()
	}()
	got, err := agentIn(t, ns, in)
	must(t, err)
	if len(got) != 6 || got[1].Cut != 1 || got[3].Dropped == 0 {
		t.Fatalf("answers %+v", got)
	}
	for i, want := range []string{"cut 7 does not exist: it was healed or never made", `unknown order "dance"`} {
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
	n, err := Open(t.Context(), e)
	must(t, err)
	defer func() { must(t, n.Close(context.Background())) }()
	if !answers(m.IP) {
		t.Fatal("no answer before the cut")
	}
	c, err := n.Cut(t.Context(), m, Rule{})
	must(t, err)
	if answers(m.IP) {
		t.Error("an answer in spite of the cut")
	}
	if d, err := c.Dropped(t.Context()); err != nil || d == 0 {
		t.Errorf("dropped %d packets, %v", d, err)
	}
	must(t, c.Remove(t.Context()))
	must(t, c.Remove(t.Context()))
	if !answers(m.IP) {
		t.Error("no answer after the heal")
	}
}

func TestNetwork_followsAContainerThatStartsAgain(t *testing.T) {
	e := contained(t)
	m := e.Members[0]
	n, err := Open(t.Context(), e)
	must(t, err)
	defer func() { must(t, n.Close(context.Background())) }()
	old, err := n.Cut(t.Context(), m, Rule{})
	must(t, err)
	must(t, m.Machine.Kill(t.Context()))
	must(t, m.Machine.Start(t.Context()))
	if !answers(m.IP) {
		t.Fatal("a new namespace was born cut off")
	}
	c, err := n.Cut(t.Context(), m, Rule{})
	must(t, err)
	if answers(m.IP) {
		t.Error("the cut missed the new namespace")
	}
	if err := old.Remove(t.Context()); !errors.Is(err, ErrVanished) {
		t.Errorf("the cut of the old namespace was not missed when it was healed: %v", err)
	}
	if answers(m.IP) {
		t.Error("healing the cut of the old namespace healed the new one")
	}
	must(t, c.Remove(t.Context()))
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
	n, err := Open(context.Background(), &ensembles.Ensemble{ID: os.Getenv("ZKBENCH_TEST_ENSEMBLE"), Members: []*ensembles.Member{m}})
	if err == nil {
		_, err = n.Cut(context.Background(), m, Rule{})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("cut")
	io.Copy(io.Discard, os.Stdin)
}

func TestOpen_saysWhatItCannotCut(t *testing.T) {
	for _, row := range []struct {
		name, want string
		member     ensembles.Member
	}{
		{"a member without a network of its own", "not have a separate network", ensembles.Member{Name: "zk1"}},
		{"a namespace that is gone", "no longer exists", ensembles.Member{Name: "zk1", NetNS: "/run/netns/zkbench-nobody"}},
		{"a container that is gone", "inspect its container", ensembles.Member{Name: "zk1", ContainerID: "nobody"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Open(t.Context(), &ensembles.Ensemble{Members: []*ensembles.Member{&row.member}})
			if !errors.Is(err, ErrSkipped) || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "zk1") {
				t.Errorf("got %v", err)
			}
		})
	}
}
