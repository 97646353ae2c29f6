package main

import (
	"bufio"
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

// running is a run as a process of its own, on local JVMs.
type running struct {
	*exec.Cmd
	cli
	out   string
	lines chan string // what it prints on stderr
	pipe  io.ReadCloser
	said  string
}

// startHerd starts a small herd whose churn is long, with a member cut off for most of it. Such a
// test mostly waits, and has an ensemble of its own: it runs beside others.
func startHerd(t *testing.T, args ...string) *running {
	t.Helper()
	t.Parallel()
	r := &running{cli: newCLI(t), lines: make(chan string, 1000)}
	r.out = filepath.Join(r.dir, "out")
	r.Cmd = r.command(append([]string{"run", "herd", "--ensemble", "process", "--subject", "lock/predecessor", "--clients", "3",
		"--set", "phases.0.rounds=1", "--set", "phases.1.duration=60s", "--out", r.out,
		"--set", "phases.1.faults=[{at: 100ms, fault: partition.isolate, target: leader, for: 50s}]"}, args...)...)
	pipe, err := r.StderrPipe()
	must(t, err)
	r.pipe = pipe
	must(t, r.Start())
	t.Cleanup(func() { r.Process.Kill(); r.Wait(); r.call(exitOK, "ensemble", "down") })
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(pipe); s.Scan(); {
			r.lines <- s.Text() + "\n"
		}
	}()
	return r
}

// await reads what it says until a line contains text.
func (r *running) await(text string) {
	r.t.Helper()
	limit := time.After(4 * time.Minute)
	for {
		select {
		case line, ok := <-r.lines:
			r.said += line
			if strings.Contains(line, text) {
				return
			}
			if !ok {
				r.t.Fatalf("it ended before it said %q; it said:\n%s", text, r.said)
			}
		case <-limit:
			r.t.Fatalf("it never said %q; it said:\n%s", text, r.said)
		}
	}
}

// end waits for the process and requires one of the exit codes; -1 is that of a killed process.
func (r *running) end(want ...int) {
	r.t.Helper()
	for line := range r.lines {
		r.said += line
	}
	_ = r.Wait() // its error is the exit code
	if code := r.ProcessState.ExitCode(); !slices.Contains(want, code) {
		r.t.Errorf("exit code %d, want %d; it said:\n%s", code, want, r.said)
	}
}

// gone fails if anything of the run's ensemble is still there: a JVM, a namespace.
func (r *running) gone() {
	r.t.Helper()
	id := regexp.MustCompile(`ensemble ([0-9a-f]{8}):`).FindStringSubmatch(r.said)
	if id == nil {
		r.t.Fatalf("it did not say what its ensemble is called:\n%s", r.said)
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

// timeout(1) sends its signal to the process and to its group. And while a run writes its folder,
// nobody else empties that.
func TestRun_interruptedInAPartition(t *testing.T) {
	r := startHerd(t)
	r.await("fault: partition.isolate")
	_, said := r.call(exitUsage, "run", "herd", "--ensemble", "process", "--force", "--out", r.out)
	contains(t, said, "another process is writing to it: name another folder")
	r.Process.Signal(syscall.SIGTERM)
	r.Process.Signal(os.Interrupt)
	r.end(exitInterrupted)
	r.gone()
	result, err := report.ReadResult(r.out)
	must(t, err)
	if result.Run.EndReason != "interrupted" || len(result.Trials) != 1 || len(result.Trials[0].Faults) != 1 {
		t.Fatalf("result.json should tell of an interrupted run with one trial and one fault: %+v", result)
	}
	trial := result.Trials[0]
	notPlayed := func(v report.Verdict) bool { return v.Guarantee == "completed" && v.Result == report.Unknown }
	if !slices.ContainsFunc(trial.Verdicts, notPlayed) {
		t.Errorf("a trial that was interrupted was played to its end: %+v", trial.Verdicts)
	}
	if f := trial.Faults[0]; f.End <= f.Start {
		t.Errorf("the fault was not healed: %+v", f)
	}
}

// A run ends as if interrupted, also while its ensemble starts, when nobody reads its output any
// more (run ... | head -3).
func TestRun_whoseTerminalOrReaderIsGone(t *testing.T) {
	for name, leave := range map[string]func(*running){
		"its terminal closes":  func(r *running) { r.Process.Signal(syscall.SIGHUP) },
		"its output is closed": func(r *running) { r.pipe.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			r := startHerd(t)
			r.await("ensemble ")
			leave(r)
			r.end(exitInterrupted)
			r.gone()
		})
	}
}

// A second interrupt counts a second after the first. The run does not end within that time, since its driver
// takes three seconds to exit.
func TestRun_secondInterruptLeavesAtOnceAndDownSweeps(t *testing.T) {
	r := startHerd(t, "--exec", `lock/slow=sh -c "zkbench driver lock/predecessor; sleep 3"`, "--set", "subjects=[lock/slow]")
	r.await("fault: partition.isolate")
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for !strings.Contains(r.said, "exited at once") {
		select {
		case line, ok := <-r.lines:
			if r.said += line; !ok {
				t.Fatalf("it ended before it was interrupted twice; it said:\n%s", r.said)
			}
		case <-again.C:
			r.Process.Signal(os.Interrupt)
		}
	}
	r.end(exitInterrupted)
	out, _ := r.call(exitOK, "ensemble", "down")
	contains(t, out, "removed")
	r.gone()
}
