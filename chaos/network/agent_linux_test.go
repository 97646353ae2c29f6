package network

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
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

func TestNetwork_followsAContainerThatStartsAgain(t *testing.T) {
	n, m := openMember(t, ensembles.Container)
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
	e := start(t, ensembles.Container)
	m := e.Members[0]
	kill := startChild(t, "cut container", "ZKBENCH_TEST_CONTAINER="+m.ContainerID, "ZKBENCH_TEST_ENSEMBLE="+e.ID)
	if answers(m.IP) {
		t.Error("the container answers")
	}
	kill()
	within(t, 10*time.Second, "the partition heals", func() bool { return answers(m.IP) })
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

func init() {
	children["cut container"] = func() error {
		_ = container.Available(context.Background()) // keeps testcontainers quiet
		m := &ensembles.Member{Name: "box", ContainerID: os.Getenv("ZKBENCH_TEST_CONTAINER")}
		e := &ensembles.Ensemble{ID: os.Getenv("ZKBENCH_TEST_ENSEMBLE"), Members: []*ensembles.Member{m}}
		n, err := Open(context.Background(), e)
		if err == nil {
			_, err = n.Cut(context.Background(), m, Rule{})
		}
		return err
	}
}

func TestOpen_saysWhatItCannotCut(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none.sock")
	for _, row := range []struct {
		name       string
		member     ensembles.Member
		dockerHost string
		want       []string
	}{
		{"a member without a network of its own", ensembles.Member{Name: "zk1"}, "",
			[]string{"zk1", "not have a separate network"}},
		{"a namespace that is gone", ensembles.Member{Name: "zk1", NetNS: "/run/netns/zkbench-nobody"}, "",
			[]string{"zk1", "no longer exists"}},
		{"a container that is gone", ensembles.Member{Name: "zk1", ContainerID: "nobody"}, "",
			[]string{"zk1", "inspect its container"}},
		{"no Docker", ensembles.Member{Name: "zk1", ContainerID: "c0ffee"}, "unix://" + socket,
			[]string{"there is no Docker socket " + socket + ": install and start Docker"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.dockerHost != "" {
				t.Setenv("DOCKER_HOST", row.dockerHost)
			}
			_, err := Open(t.Context(), &ensembles.Ensemble{Members: []*ensembles.Member{&row.member}})
			for _, want := range row.want {
				if !errors.Is(err, ErrSkipped) || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}
