package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
)

// running is zkbench as a process of its own, on local JVMs, with a state folder of
// its own.
type running struct {
	*exec.Cmd
	t     *testing.T
	state string
	out   string
	lines chan string // what it prints on stderr
	pipe  io.ReadCloser
	said  []string
}

// startHerd starts a small herd whose churn is long, with a member cut off for most of it. Such a
// test mostly waits, and has an ensemble of its own: it runs beside others.
func startHerd(t *testing.T, args ...string) *running {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	r := &running{t: t, state: filepath.Join(dir, "state"), out: filepath.Join(dir, "out"), lines: make(chan string, 1000)}
	r.Cmd = r.command(append([]string{"run", "herd", "--ensemble", "process", "--subject", "lock/predecessor", "--clients", "3",
		"--set", "phases.0.rounds=1", "--set", "phases.1.duration=60s", "--out", r.out,
		"--set", "phases.1.faults=[{at: 100ms, fault: partition.isolate, target: leader, for: 50s}]"}, args...)...)
	pipe, err := r.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.pipe = pipe
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Process.Kill(); r.Wait(); r.sweep() })
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(pipe); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	return r
}

// command is a call of zkbench with the same state folder.
func (r *running) command(args ...string) *exec.Cmd {
	cmd := exec.Command("zkbench", args...)
	cmd.Env = append(os.Environ(), "ZKBENCH_STATE="+r.state, "DOCKER_HOST=unix:///nonexistent/docker.sock")
	return cmd
}

// await reads what it says until a line contains text.
func (r *running) await(text string) {
	r.t.Helper()
	limit := time.After(4 * time.Minute)
	for {
		select {
		case line, ok := <-r.lines:
			if !ok {
				r.t.Fatalf("it ended before it said %q; it said:\n%s", text, strings.Join(r.said, "\n"))
			}
			r.said = append(r.said, line)
			if strings.Contains(line, text) {
				return
			}
		case <-limit:
			r.t.Fatalf("it never said %q; it said:\n%s", text, strings.Join(r.said, "\n"))
		}
	}
}

// end waits for the process and returns its exit code.
func (r *running) end() string {
	for line := range r.lines {
		r.said = append(r.said, line)
	}
	if err := r.Wait(); err != nil {
		return exitCodeOf(err)
	}
	return "0"
}

// sweep takes down what it left, and returns what that says.
func (r *running) sweep() string {
	out, err := r.command("ensemble", "down").CombinedOutput()
	if err != nil {
		r.t.Errorf("ensemble down: %v\n%s", err, out)
	}
	return string(out)
}

// gone fails if anything of the run's ensemble is still there: a JVM, a namespace.
func (r *running) gone() {
	r.t.Helper()
	id := regexp.MustCompile(`ensemble ([0-9a-f]{8}):`).FindStringSubmatch(strings.Join(r.said, "\n"))
	if id == nil {
		r.t.Fatalf("it did not say what its ensemble is called:\n%s", strings.Join(r.said, "\n"))
	}
	if spaces, _ := filepath.Glob("/run/netns/*" + id[1] + "*"); len(spaces) > 0 {
		r.t.Errorf("network namespaces are left: %v", spaces)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range processes {
		if line, err := os.ReadFile(p); err == nil && strings.Contains(string(line), "QuorumPeerMain") && strings.Contains(string(line), id[1]) {
			r.t.Errorf("a JVM is left: %s", strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
}

func (r *running) result() report.Result {
	r.t.Helper()
	var result report.Result
	text, err := os.ReadFile(filepath.Join(r.out, "result.json"))
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	if err != nil {
		r.t.Fatalf("%v; it said:\n%s", err, strings.Join(r.said, "\n"))
	}
	return result
}

func TestRun_interruptedInAPartition(t *testing.T) {
	r := startHerd(t)
	r.await("fault: partition.isolate")
	r.Process.Signal(os.Interrupt)
	if code := r.end(); code != "130" {
		t.Errorf("exit code %s, want 130; it said:\n%s", code, strings.Join(r.said, "\n"))
	}
	r.gone()
	result := r.result()
	if result.Run.EndReason != "interrupted" || len(result.Trials) != 1 || len(result.Trials[0].Faults) != 1 {
		t.Errorf("result.json should tell of an interrupted run with one trial and one fault: %+v", result)
	}
	played := slices.IndexFunc(result.Trials[0].Verdicts, func(v report.Verdict) bool { return v.Guarantee == "completed" && v.Result == report.Unknown })
	if played < 0 {
		t.Errorf("a trial that was interrupted was played to its end: %+v", result.Trials[0].Verdicts)
	}
	if f := result.Trials[0].Faults; len(f) == 1 && f[0].End <= f[0].Start {
		t.Errorf("the fault was not healed: %+v", f[0])
	}
}

// timeout(1) sends its signal to the process and to its group. And while a run writes its folder,
// nobody else empties that.
func TestRun_interruptedTwiceAtOnceIsInterruptedOnce(t *testing.T) {
	r := startHerd(t)
	r.await("fault: partition.isolate")
	said, _ := r.command("run", "herd", "--ensemble", "process", "--force", "--out", r.out).CombinedOutput()
	if !strings.Contains(string(said), "another process is writing to it: name another folder") {
		t.Errorf("a second run into the same folder says:\n%s", said)
	}
	r.Process.Signal(syscall.SIGTERM)
	r.Process.Signal(os.Interrupt)
	if code := r.end(); code != "130" || r.result().Run.EndReason != "interrupted" {
		t.Errorf("exit code %s, want 130 and a result; it said:\n%s", code, strings.Join(r.said, "\n"))
	}
	r.gone()
}

func TestRun_interruptedWhileTheEnsembleStarts(t *testing.T) {
	r := startHerd(t)
	r.await("ensemble ")
	r.Process.Signal(syscall.SIGHUP) // as when its terminal closes
	if code := r.end(); code != "130" {
		t.Errorf("exit code %s, want 130; it said:\n%s", code, strings.Join(r.said, "\n"))
	}
	r.gone()
}

// With nobody reading its output (run ... | head -3) a run ends as if interrupted.
func TestRun_whoseOutputIsClosed(t *testing.T) {
	r := startHerd(t)
	r.await("ensemble ")
	r.pipe.Close()
	if code := r.end(); code != "130" {
		t.Errorf("exit code %s, want 130", code)
	}
	r.gone()
}

func TestRun_secondInterruptLeavesAtOnceAndDownSweeps(t *testing.T) {
	r := startHerd(t)
	r.await("fault: partition.isolate")
	r.Process.Signal(os.Interrupt)
	r.await("interrupted")
	r.Process.Signal(os.Interrupt)
	if code := r.end(); code != "130" {
		t.Errorf("exit code %s, want 130", code)
	}
	r.sweep()
	r.gone()
}

func TestRun_killedInAPartitionAndDownSweeps(t *testing.T) {
	r := startHerd(t)
	r.await("fault: partition.isolate")
	r.Process.Kill()
	r.end()
	if said := r.sweep(); !strings.Contains(said, "removed") {
		t.Errorf("ensemble down removed nothing:\n%s", said)
	}
	r.gone()
}

// down needs no ensemble, and says nothing alarming when there is nothing to do.
func TestEnsembleDown_nothingToDo(t *testing.T) {
	r := &running{t: t, state: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := r.command("ensemble", "down")
	out, err := cmd.CombinedOutput()
	if err != nil || ctx.Err() != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
