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

func TestProbe_saysWhyAProgramDoesNotStart(t *testing.T) {
	for _, row := range []struct {
		name, script string
		exited       bool
		want         string
	}{
		{"it ends at once", "echo out of cheese >&2; exit 3", true, "(exit status 3); it printed on stderr:\n  out of cheese"},
		{"it says nothing", "exit 1", true, "(exit status 1)"},
		{"it prints something else", "echo hello", false, "each line is one JSON object: hello"},
		{"it answers another protocol", `read line; echo '{"id":1,"ok":{"protocol":7}}'; cat >/dev/null`, false, "the protocol's number, 1"},
		{"it is of another kind", `while read line; do
			id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
			case "$line" in
			*hello*) echo '{"id":'$id',"ok":{"protocol":1,"recipe":"barrier","ops":["enter","leave"],"max_clients":9}}' ;;
			*) echo '{"id":'$id',"ok":{"now":'$(date +%s%N)'}}' ;;
			esac
		done`, false, `the name lock/x requires recipe lock, but the hello has recipe "barrier"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := Probe(Command{Name: "lock/x", Args: []string{"sh", "-c", row.script}}, "none")
			if err == nil || errors.Is(err, ErrExited) != row.exited || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOutput_lastLineIsWhatWentWrong(t *testing.T) {
	for _, row := range []struct{ about, printed, want string }{
		{"nothing", "", ""},
		{"one line, not yet ended", "out of cheese", "out of cheese"},
		{"the last of several, and empty ones", "starting\nout of cheese\r\n\n", "out of cheese"},
		{"a traceback ends with the error", "Traceback:\n  File \"a.py\"\n    import kazoo\nModuleNotFoundError: No module named 'kazoo'\n", "ModuleNotFoundError: No module named 'kazoo'"},
		{"a stack trace begins with it", "Exception in thread \"main\" Oops\n\tat Lock.run(Lock.java:3)\n\tat Lock.main(Lock.java:7)\n", `Exception in thread "main" Oops`},
		{"nothing but a stack", "\tat Lock.run(Lock.java:3)\n\tat Lock.main(Lock.java:7)\n", "\tat Lock.main(Lock.java:7)"},
		{"more than is remembered", strings.Repeat("starting\n", tailLimit) + "out of cheese", "out of cheese"},
	} {
		t.Run(row.about, func(t *testing.T) {
			var o output
			for part := range strings.SplitAfterSeq(row.printed, "\n") {
				if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := o.lastLine(); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if len(o.tail) > tailLimit {
				t.Errorf("%d bytes are remembered", len(o.tail))
			}
		})
	}
}

func TestOutput_ofAnotherTrialIsForgotten(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	var o output
	said := func(line, file string) {
		t.Helper()
		if o.lastLine() != line || o.where() != file {
			t.Errorf("got %q in %q, want %q in %q", o.lastLine(), o.where(), line, file)
		}
	}
	write := func(text string) {
		_, err := o.Write([]byte(text))
		must(t, err)
	}
	o.setPath(one)
	said("", "")
	write("a")
	said("a", one)
	o.setPath("")
	said("a", one) // it can still be told why it ended
	write("\nb")
	said("b", "")
	o.setPath(two)
	said("", "")
	write("c")
	said("c", two)
	o.setPath("")
	if text, err := os.ReadFile(two); string(text) != "c" || err != nil {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// A process that prints without end fills no disk, and its last words are kept.
func TestOutput_hasALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stderr")
	o := &output{}
	o.setPath(path)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 2 * fileLimit / len(line) {
		_, _ = o.Write(line)
	}
	_, _ = o.Write([]byte("the end\n"))
	o.setPath("")
	text, err := os.ReadFile(path)
	if err != nil || len(text) > fileLimit+2*tailLimit || !strings.HasSuffix(string(text), "the end\n") || !strings.Contains(string(text), "bytes were dropped here") {
		t.Errorf("%d bytes, %v, ending in %q", len(text), err, text[max(0, len(text)-20):])
	}
}

// No password is printed or stored, whoever says it.
func TestProcess_redactsPasswords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stderr")
	p := &Process{output: &output{}}
	p.output.setPath(path)
	p.hide(`user:se"cret`)
	for _, text := range []string{`{"auth":"user:se\"cret"}`, `se"cret`, `user:se"cret`} {
		if got := p.redact(text); strings.Contains(got, "cret") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	_, _ = p.output.Write([]byte(`my password is se"cret`))
	p.output.setPath("")
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "cret") {
		t.Errorf("stored: %q, %v", text, err)
	}
	p.last.add("> ", p.redact(`{"op":"open","auth":[{"auth":"user:se\"cret"}]}`))
	if b := p.breach(`{"error":"se\"cret"}`, `it said se"cret`); strings.Contains(b.Error()+strings.Join(p.Exchange(), ""), "cret") {
		t.Errorf("a breach shows it: %v, %q", b, p.Exchange())
	}
}

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
