package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"zkbench/ensembles"
)

const testImage = "zkbench/zookeeper:3.8.0"

// box is a container that stands for a member: an address and a listener.
func box(t testing.TB) *ensembles.Member {
	t.Helper()
	ctx := t.Context()
	docker, err := client.New(client.FromEnv)
	must(t, err)
	t.Cleanup(func() { docker.Close() })
	if _, err := docker.ImageInspect(ctx, testImage); err != nil {
		t.Skipf("no image to make a container of: %v", err)
	}
	made, err := docker.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config:     &container.Config{Image: testImage, Entrypoint: []string{"sleep", "600"}, Labels: map[string]string{"zkbench": "1", "zkbench.owner": selfOwner()}},
		HostConfig: &container.HostConfig{},
	})
	must(t, err)
	t.Cleanup(func() {
		docker.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	})
	_, err = docker.ContainerStart(ctx, made.ID, client.ContainerStartOptions{})
	must(t, err)
	return &ensembles.Member{Name: "box", ID: 1, IP: address(t, docker, made.ID), ContainerID: made.ID}
}

func address(t testing.TB, docker *client.Client, id string) string {
	t.Helper()
	info, err := docker.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
	must(t, err)
	return info.Container.NetworkSettings.Networks["bridge"].IPAddress.String()
}

// answers reports whether the kernel behind the address answers: a connection to
// a port where nobody listens is refused when packets get through, and times out
// when they do not.
func answers(ip string) bool {
	c, err := net.DialTimeout("tcp", netip.AddrPortFrom(netip.MustParseAddr(ip), 7).String(), 150*time.Millisecond)
	if err == nil {
		c.Close()
		return true
	}
	var timeout net.Error
	return !(errors.As(err, &timeout) && timeout.Timeout())
}

func TestNetwork_CutsAContainer(t *testing.T) {
	m := box(t)
	n, err := NewNetwork(t.Context(), &ensembles.Ensemble{ID: "cut-" + m.ContainerID[:8], Members: []*ensembles.Member{m}})
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
	if d, err := c.Dropped(t.Context()); err != nil || d.Packets == 0 {
		t.Errorf("dropped %+v, %v", d, err)
	}
	must(t, c.Heal(t.Context()))
	must(t, c.Heal(t.Context()))
	if !answers(m.IP) {
		t.Error("no answer after the heal")
	}
	if _, err := n.Cut(t.Context(), m, Rule{Direction: "sideways"}); err == nil {
		t.Error("an unknown direction was accepted")
	}
}

func TestNetwork_FollowsAContainerThatStartsAgain(t *testing.T) {
	m := box(t)
	docker, err := client.New(client.FromEnv)
	must(t, err)
	defer docker.Close()
	n, err := NewNetwork(t.Context(), &ensembles.Ensemble{ID: "again-" + m.ContainerID[:8], Members: []*ensembles.Member{m}})
	must(t, err)
	defer func() { must(t, n.Close(context.Background())) }()
	old, err := n.Cut(t.Context(), m, Rule{})
	must(t, err)
	now := 0
	_, err = docker.ContainerRestart(t.Context(), m.ContainerID, client.ContainerRestartOptions{Timeout: &now})
	must(t, err)
	m.IP = address(t, docker, m.ContainerID)
	if !answers(m.IP) {
		t.Fatal("a new namespace was born cut off")
	}
	c, err := n.Cut(t.Context(), m, Rule{})
	must(t, err)
	if answers(m.IP) {
		t.Error("the cut missed the new namespace")
	}
	must(t, old.Heal(t.Context()))
	if answers(m.IP) {
		t.Error("healing the cut of the old namespace healed the new one")
	}
	must(t, c.Heal(t.Context()))
	if !answers(m.IP) {
		t.Error("no answer after the heal")
	}
}

// The agent must not outlive whoever started it, and neither must its cuts.
func TestNetwork_KilledOwnerLeavesNothing(t *testing.T) {
	m := box(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "ZKBENCH_TEST_CHILD=cut container", "ZKBENCH_TEST_CONTAINER="+m.ContainerID)
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
			All: true, Filters: client.Filters{}.Add("label", "zkbench.ensemble=killed-"+m.ContainerID),
		})
		return err == nil && len(list.Items) == 0
	})
}

func init() { children["cut container"] = cutContainerAndWait }

func cutContainerAndWait() {
	m := &ensembles.Member{Name: "box", ContainerID: os.Getenv("ZKBENCH_TEST_CONTAINER")}
	n, err := NewNetwork(context.Background(), &ensembles.Ensemble{ID: "killed-" + m.ContainerID, Members: []*ensembles.Member{m}})
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

func TestNewNetwork_SaysWhatItCannotReach(t *testing.T) {
	for _, row := range []struct {
		name, want string
		member     ensembles.Member
	}{
		{"a member without a network of its own", "no network of its own", ensembles.Member{Name: "zk1"}},
		{"a namespace that is gone", "is gone", ensembles.Member{Name: "zk1", NetNS: "/run/netns/zkbench-nobody"}},
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
