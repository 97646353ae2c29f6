package agents

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// herd is a run of zkbench whose clients live on the hosts. Its files are in folders of the
// test.
type herd struct {
	*exec.Cmd
	printed bytes.Buffer
	out     string // run folder
	own     []string
	ended   chan struct{}
}

func (r *rig) herd(t *testing.T, args ...string) *herd {
	t.Helper()
	dir := t.TempDir()
	h := &herd{out: filepath.Join(dir, "out"), own: []string{filepath.Join(dir, "tmp"), filepath.Join(dir, "state")}, ended: make(chan struct{})}
	for _, own := range h.own {
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	line := []string{"run", "herd", "--ensemble", "process", "--subject", "lock/predecessor", "--clients", "30", "--set", "phases.0.rounds=1",
		"--set", "warmup=0s", "--agents", "ssh:h1,h2,h3", "--agents-relay", "--out", h.out}
	h.Cmd = exec.Command(r.program, append(line, args...)...)
	h.Env = append(os.Environ(), "TMPDIR="+h.own[0], "ZKBENCH_STATE="+h.own[1],
		"DOCKER_HOST=unix://"+filepath.Join(dir, "none.sock")) // what others keep in Docker is not ours to remove
	h.Stdout, h.Stderr = &h.printed, &h.printed
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(h.ended)
		_ = h.Wait() // how it has ended is in ProcessState
	}()
	t.Cleanup(func() {
		_ = h.Process.Kill() // it has ended, unless the test has failed
		<-h.ended
		down := exec.Command(r.program, "ensemble", "down")
		down.Env = h.Env
		if out, err := down.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return h
}

// atWork waits until each host has clients, in processes of their own.
func (r *rig) atWork(t *testing.T, h *herd) {
	t.Helper()
	for _, host := range r.net.Hosts {
		within(t, 40*time.Second, "clients live on "+host.Name, func() bool {
			select {
			case <-h.ended:
				t.Fatalf("the run has ended (%v):\n%s", h.ProcessState, &h.printed)
			default:
			}
			for _, line := range host.Processes() {
				if strings.Contains(line, " driver lock/predecessor") {
					return true
				}
			}
			return false
		})
	}
}

// result is what the test reads of result.json.
type result struct {
	Trials []struct {
		Metrics    map[string]struct{ Value, Expected, Count float64 }
		Verdicts   []struct{ Guarantee, Result string }
		Thresholds []struct{ Expr, Result, Measured string }
	}
}

func (h *herd) result(t *testing.T) (r result) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil || len(r.Trials) != 1 {
		t.Fatalf("%d trials, %v", len(r.Trials), err)
	}
	return r
}

func TestSSH_run(t *testing.T) {
	r := newRig(t)

	t.Run("the herd's counts are those of the formula, and nothing stays", func(t *testing.T) {
		h := r.herd(t, "--duration", "6s")
		<-h.ended
		if code := h.ProcessState.ExitCode(); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, &h.printed)
		}
		trial := h.result(t).Trials[0]
		for name, want := range map[string]float64{"fanout.notifications": 1, "fanout.requests": 2} {
			m := trial.Metrics[name]
			if m.Value != want || m.Expected != want || m.Count != 29 {
				t.Errorf("%s: %v, expected %v, of %v hand-offs; want %v of 29", name, m.Value, m.Expected, m.Count, want)
			}
		}
		for _, v := range trial.Verdicts {
			if v.Result != "pass" && v.Result != "not exercised" {
				t.Errorf("%s: %s", v.Guarantee, v.Result)
			}
		}
		for _, v := range trial.Thresholds {
			if v.Result != "pass" {
				t.Errorf("%s: %s (%s)", v.Expr, v.Result, v.Measured)
			}
		}
		if len(trial.Verdicts) == 0 || len(trial.Thresholds) == 0 {
			t.Errorf("%d verdicts and %d thresholds", len(trial.Verdicts), len(trial.Thresholds))
		}
		r.clean(t)
		for _, own := range h.own {
			if left, err := os.ReadDir(own); err != nil || len(left) > 0 {
				t.Errorf("left in %s: %v, %v", own, left, err)
			}
		}
	})

	t.Run("nothing stays on the hosts when the run is killed", func(t *testing.T) {
		h := r.herd(t, "--set", "apart=true")
		r.atWork(t, h)
		if err := h.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, host := range r.net.Hosts {
			within(t, 12*time.Second, "nothing is left on "+host.Name, func() bool { return len(host.Left()) == 0 })
		}
	})
}
