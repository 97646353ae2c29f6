package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
)

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
		{"a member without a network of its own", "no network of its own", ensembles.Member{Name: "zk1"}},
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
