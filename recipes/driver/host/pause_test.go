package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// must fails the test where there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pause pauses a client's process, and waits until all its threads are stopped.
func pause(t *testing.T, c *Client) {
	t.Helper()
	must(t, c.Process().Pause())
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		running := 0
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.Process().PID()))
		for _, file := range threads {
			if stat, err := os.ReadFile(file); err == nil && !strings.Contains(string(stat), ") T ") {
				running++
			}
		}
		if running == 0 {
			return
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%d of %d threads still run", running, len(threads))
		}
	}
}

func TestPause_silenceBreaksNoRule(t *testing.T) {
	p, c := start(t, "sound")
	pause(t, c)
	k := c.p.Send(c.request("holds"), nil)
	const limit = time.Second // in which a busy machine lets it go on and answer
	answered := make(chan error, 1)
	go func() { _, err := c.p.Await(k, limit); answered <- err }()
	select {
	case err := <-answered:
		t.Errorf("a process that is paused has answered, or its silence counted: %v", err)
	case <-time.After(2 * limit):
	}
	must(t, c.Process().Resume())
	must(t, <-answered)
	if len(p.wrong) > 0 {
		t.Error(<-p.wrong)
	}
}

func TestPause_whatIsAskedMeanwhileIsAnsweredAfterwards(t *testing.T) {
	_, c := start(t, "sound")
	_, err := c.Acquire(t.Context())
	must(t, err)
	pause(t, c)
	holds, write := c.BeginHolds(), c.BeginWrite("late")
	time.Sleep(time.Second) // it stands still for longer than two clocks differ
	resumed := time.Now()
	must(t, c.Process().Resume())
	yes, err := holds()
	must(t, err)
	must(t, write(t.Context()))
	if !yes {
		t.Error("the holder says that it does not hold")
	}
	if called := c.Times().Called; resumed.Sub(called) > 500*time.Millisecond {
		t.Errorf("it wrote %v before it went on", resumed.Sub(called))
	}
}

func TestStop_endsAProcessThatIsPaused(t *testing.T) {
	p, c := start(t, "sound")
	pause(t, c)
	must(t, c.Process().Stop()) // an error where it had to be killed
	if len(p.wrong) > 0 {
		t.Error(<-p.wrong)
	}
}

func TestKill_isNoBreachAndTheClientComesBackInAnotherProcess(t *testing.T) {
	p, c := start(t, "waits")
	acquired := make(chan error, 1)
	go func() { _, err := c.Acquire(context.WithoutCancel(t.Context())); acquired <- err }()
	for patience := time.Now().Add(10 * time.Second); !strings.Contains(strings.Join(c.p.Exchange(), ""), `"op":"acquire"`); time.Sleep(time.Millisecond) {
		if time.Now().After(patience) {
			t.Fatalf("the driver was not asked to acquire within 10 s: %q", c.p.Exchange())
		}
	}
	first := c.Process()
	must(t, first.Kill())
	if err := <-acquired; !errors.Is(err, recipes.ErrSessionEnded) || !recipes.Indeterminate(err) {
		t.Errorf("an acquire of a killed client returned %v; want a session that has ended and an open outcome", err)
	}
	if _, err := p.Open(t.Context(), c.env); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("before its process may be replaced, a client is opened: %v", err)
	}
	first.Replace()
	again := p.client(t, 0)
	if again.Process().PID() == first.PID() {
		t.Error("it is in the process that was killed")
	}
	if len(p.wrong) > 0 {
		t.Errorf("that it was killed counts as a mistake of the driver's: %v", <-p.wrong)
	}
}

func TestAlone_putsAClientIntoAProcessOfItsOwn(t *testing.T) {
	p, err := begin(t, "sound", recipes.Trial{Clients: 3, NeedsOwnProcess: func(n int) bool { return n == 1 }})
	t.Cleanup(p.stop)
	must(t, err)
	a, b, c := p.client(t, 0), p.client(t, 1), p.client(t, 2)
	if a.Process() != c.Process() || a.Process() == b.Process() {
		t.Errorf("clients 0, 1 and 2 are in processes %d, %d and %d", a.Process().PID(), b.Process().PID(), c.Process().PID())
	}
}

// trial plays a trial of a run that keeps processes, and returns that of client 0.
func trial(t *testing.T, kept *Pool, mode string, do func(*Client)) (pid int) {
	t.Helper()
	p, err := begin(t, mode, recipes.Trial{Clients: 1, Pool: kept})
	defer p.stop()
	must(t, err)
	c := p.client(t, 0)
	do(c)
	return c.Process().PID()
}

func TestKept_aSoundProcessServesTheNextTrial(t *testing.T) {
	kept := &Pool{}
	defer kept.Close()
	closes := func(c *Client) { must(t, c.Close(t.Context())) }
	pid := trial(t, kept, "sound", closes)
	for _, row := range []struct {
		what string
		do   func(*Client)
		same bool
	}{
		{"was closed in good order", closes, true},
		{"left a client open", func(*Client) {}, false},
		{"was paused", func(c *Client) { must(t, c.p.Pause()); must(t, c.p.Resume()); closes(c) }, false},
		{"was killed", func(c *Client) { must(t, c.p.Kill()) }, false},
		{"broke a rule", func(c *Client) { c.p.fail(errors.New("a rule")) }, false},
	} {
		if is := trial(t, kept, "sound", row.do); is != pid {
			t.Errorf("a process that %s is %d, not the kept one, %d", row.what, is, pid)
		}
		next := trial(t, kept, "sound", closes)
		if (next == pid) != row.same {
			t.Errorf("after a trial whose process %s, the next had process %d, this one %d", row.what, next, pid)
		}
		pid = next
	}
	if other := trial(t, kept, "events", closes); other == pid {
		t.Error("another command was served by the same process")
	}
	if alone := trial(t, nil, "sound", closes); alone == pid {
		t.Error("a run that keeps nothing was given a kept process")
	}
}

func TestKept_closeEndsWhatIsKept(t *testing.T) {
	kept := &Pool{}
	pid := trial(t, kept, "sound", func(c *Client) { must(t, c.Close(t.Context())) })
	must(t, kept.Close())
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		t.Errorf("process %d is left", pid)
	}
}
