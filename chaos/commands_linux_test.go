package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/ensembles/txnlog"
)

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
	net, err := network.Open(t.Context(), theirs)
	must(t, err)
	t.Cleanup(func() { must(t, net.Close(context.Background())) })
	return Target{Ensemble: theirs, Network: net}
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
	net, err := network.Open(t.Context(), theirs)
	must(t, err)
	defer func() { must(t, net.Close(context.Background())) }()
	_, err = parse(t, "partition.isolate", Leader).Inject(t.Context(), Target{Ensemble: theirs, Network: net})
	if !errors.Is(err, ErrNoEffect) {
		t.Errorf("got %v", err)
	}
}
