package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// toyCommand is this test binary as a driver.
func toyCommand(name, mode string) Command {
	return Command{Name: name, Args: []string{os.Args[0]}, Env: []string{modeKey + "=" + mode}}
}

// played is a driver in a trial.
type played struct {
	recipes.Subject
	stop   func()
	stderr string
	wrong  chan error
	events chan recipes.Event
}

// play starts a driver as a trial does, and stops it after the test.
func play(t *testing.T, mode string) (*played, error) {
	t.Helper()
	p, err := begin(t, mode, recipes.Trial{Clients: 4})
	t.Cleanup(p.stop)
	return p, err
}

func begin(t *testing.T, mode string, trial recipes.Trial) (p *played, err error) {
	p = &played{wrong: make(chan error, 10), events: make(chan recipes.Event, 10)}
	p.stderr = filepath.Join(t.TempDir(), "err")
	trial.Stderr, trial.Owner, trial.Fail = p.stderr, "test", func(err error) { p.wrong <- err }
	p.Subject, p.stop, err = Subject(toyCommand("lock/toy", mode)).Start(t.Context(), trial)
	return p, err
}

const testTimeout = 300 * time.Millisecond

func (p *played) client(t *testing.T, n int) *Client {
	t.Helper()
	c, err := p.Open(t.Context(), recipes.Env{
		Parent: "/lock", Timeout: testTimeout, Client: n, Connect: func() ([]string, error) { return []string{"127.0.0.1:1"}, nil },
		Seen:   func() recipes.Claim { return recipes.Claim{Session: 42, Path: "/lock/seen-1", Token: 3} },
		Events: func(e recipes.Event) { p.events <- e },
	})
	must(t, err)
	return c.(*Client)
}

// start plays a driver whose hello is right, with one client.
func start(t *testing.T, mode string) (*played, *Client) {
	t.Helper()
	p, err := play(t, mode)
	must(t, err)
	return p, p.client(t, 0)
}

func TestHello_whatIsWrongIsShown(t *testing.T) {
	for mode, want := range map[string]string{
		"wrong protocol": `the answer to hello must have the protocol's number, 1: {"id":1,"ok":{"protocol":2`,
		"wrong recipe":   `but the hello has recipe "semaphore"`,
		"an election":    `the name lock/toy requires recipe lock, but the hello has recipe "election"`,
		"no ops":         `the ops of a lock must include acquire and release`,
		"a typing error": `any of exclusive, fifo, delivery and writers: json: unknown field "exclusiv"`,
		"wrong variant":  `variant is "fair", but must be one of parent, predecessor, polling`,
	} {
		if _, err := play(t, mode); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", mode, err, want)
		}
	}
}

func TestHello_saysWhatTheSubjectIs(t *testing.T) {
	p, c := start(t, "sound")
	want := recipes.Promises{Exclusive: true, FIFO: true, Events: true}
	if p.About != "a toy" || p.Variant != recipes.Predecessor || p.Promises != want {
		t.Errorf("got %+v", p.Subject)
	}
	if c.Session() != 31 {
		t.Errorf("the session is %d, want that of the answer", c.Session())
	}
	if p50, p99, of := p.PipeLatency(); p50 <= 0 || p99 < p50 || of == 0 {
		t.Errorf("the pipe takes %v, %v", p50, p99)
	}
}

func TestWrongLines_areShownWithTheirRuleAndLoseNothing(t *testing.T) {
	for _, c := range []struct{ mode, rule, line string }{
		{"not JSON", "one JSON object", "DEBUG got the lock"},
		{"not an object", "one JSON object", `["acquire"]`},
		{"unknown id", "no request has id", `"ok":{}`},
		{"twice", "answered exactly once", `"ok":{}`},
		{"neither", "either ok or error", `{"id":`},
		{"both", "either ok or error", `"ok":{},"error"`},
		{"no id", "has the id of its request", `{"ok":{}}`},
		{"too long", "at most 65536 bytes", "xxx... ("},
		{"exits", "exited during the trial (exit status 7)", ""},
		{"unknown kind", "the kind of an error must be", `"oops"`},
		{"unknown event", "an event must be suspended", `"connected"`},
		{"event of nobody", "an event must name its client", `{"event":"lost"}`},
		{"one time", "both called and at, or neither", `"at":5`},
		{"times of another clock", "on the clock that the op clock reads", `"called":5`},
	} {
		t.Run(c.mode, func(t *testing.T) {
			p, client := start(t, c.mode)
			_, err := client.Acquire(t.Context())
			if c.mode == "twice" && err == nil {
				err = <-p.wrong
				p.wrong <- err
			}
			select {
			case said := <-p.wrong:
				if !strings.Contains(said.Error(), c.rule) || !strings.Contains(said.Error(), c.line) {
					t.Errorf("the trial was told %v, want %s and %s", said, c.rule, c.line)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("nobody was told; acquire returned %v", err)
			}
			if err == nil || c.mode != "twice" && !recipes.Indeterminate(err) {
				t.Errorf("acquire returned %v, want an error that leaves the outcome open", err)
			}
			if _, again := client.Acquire(t.Context()); again == nil {
				t.Error("an operation after that did not fail")
			}
			if len(p.wrong) > 0 {
				t.Errorf("it was told twice: %v", <-p.wrong)
			}
		})
	}
}

func TestWhatADriverPrints_isKept(t *testing.T) {
	p, client := start(t, "exits")
	_, err := client.Acquire(t.Context())
	file := p.stderr + "-0.stderr"
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), `"out of cheese"`) {
		t.Errorf("the error does not name the file, or what stands last in it: %v", err)
	}
	if text, _ := os.ReadFile(file); string(text) != "out of cheese\n" {
		t.Errorf("the file has %q", text)
	}
}

func TestSilence_isAnError(t *testing.T) {
	p, err := Launch(toyCommand("lock/toy", "silent"), site.Here{}, "", "test", func(error) {})
	must(t, err)
	defer p.Stop()
	must(t, p.Greet())
	n := 0
	p.Send(lines.Request{Op: "acquire", Client: &n}, nil)
	if _, err := p.Await(p.Send(lines.Request{Op: "clock"}, nil), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "silence: clock") {
		t.Errorf("got %v", err)
	}
	p.run.Kill() // it would not read the end of its stdin
}

func TestErrors_becomeOutcomes(t *testing.T) {
	for _, c := range []struct {
		mode                   string
		indeterminate, endsAll bool
	}{
		{"failed", false, false}, {"unknown", true, true}, {"lost", false, true}, {"timeout", false, false}, {"unsupported", false, false},
	} {
		_, client := start(t, c.mode)
		_, err := client.Acquire(t.Context())
		if err == nil || recipes.Indeterminate(err) != c.indeterminate || errors.Is(err, recipes.ErrSessionEnded) != c.endsAll {
			t.Errorf("%s: %v", c.mode, err)
		}
		if errors.Is(err, recipes.ErrNotAcquired) != (c.mode == "timeout") {
			t.Errorf("%s: %v", c.mode, err)
		}
		if _, again := client.Acquire(t.Context()); errors.Is(again, recipes.ErrSessionEnded) != c.endsAll {
			t.Errorf("%s: the next acquire: %v", c.mode, again)
		}
	}
}

func TestUnknown_waitsForWhatShowsBeforeTheClose(t *testing.T) {
	t.Parallel()
	_, client := start(t, "unknown release")
	_, err := client.Acquire(t.Context())
	must(t, err)
	before := time.Now()
	if err := client.Release(t.Context()); !recipes.Indeterminate(err) || !errors.Is(err, recipes.ErrSessionEnded) {
		t.Errorf("release: %v", err)
	}
	if err := client.Close(t.Context()); err != nil || time.Since(before) < testTimeout+cleanUpLimit {
		t.Errorf("closed after %v: %v", time.Since(before), err)
	}
}

// A client that cannot be cancelled is closed, and opened again for the next operation.
func TestCancel_givesUpTheOperation(t *testing.T) {
	for mode, stays := range map[string]bool{"waits": true, "no cancel": false} {
		p, client := start(t, mode)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := client.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) || recipes.Indeterminate(err) {
			t.Errorf("%s: got %v", mode, err)
		}
		if client.open != stays {
			t.Errorf("%s: the client is open: %v", mode, client.open)
		}
		if closed := len(p.events) == 1 && (<-p.events).Kind == recipes.EventClosed; closed == stays {
			t.Errorf("%s: it is reported that the client is closed: %v", mode, closed)
		}
		if err := client.Release(t.Context()); err != nil || !client.open {
			t.Errorf("%s: the client cannot go on: %v", mode, err)
		}
	}
}

// A recipe has a timeout to go on after its session was lost, from the end of an outage on, because a client
// cannot return while the ensemble is not available. A client whose retry policy sleeps for longer than a session
// timeout is not stuck.
func TestLost_whileItWaits(t *testing.T) {
	const timeout = testTimeout
	for _, row := range []struct {
		about                    string
		silence, request, outage time.Duration // the limit; when the client sends one; when it ends
		stuck                    bool
		least                    time.Duration
	}{
		{"it has sent a request", timeout, timeout / 2, 0, false, timeout},
		{"it sends none before a timeout after the outage", timeout, time.Hour, 3 * timeout, true, 4 * timeout},
		{"it sends one later", 3 * timeout, 2 * timeout, 0, false, 3 * timeout},
		{"it sends none", 3 * timeout, time.Hour, 0, true, 3 * timeout},
	} {
		t.Run(row.about, func(t *testing.T) {
			t.Parallel()
			p, client := start(t, "lost while it waits")
			before := time.Now()
			client.silence = row.silence
			client.env.Requests = func() int64 { return int64(time.Since(before) / row.request) }
			client.env.LastOutageEnd = func() time.Time { return before.Add(min(row.outage, time.Since(before))) }
			_, err := client.Acquire(t.Context())
			took := time.Since(before)
			if errors.Is(err, recipes.ErrStuck) != row.stuck || !errors.Is(err, recipes.ErrSessionEnded) || took < row.least {
				t.Errorf("after %v: %v", took, err)
			}
			if e := <-p.events; e.Kind != recipes.EventLost || e.Session != 31 {
				t.Errorf("event %+v", e)
			}
		})
	}
}

func TestEvents_areOfTheGrant(t *testing.T) {
	p, client := start(t, "events")
	claim, err := client.Acquire(t.Context())
	must(t, err)
	for _, want := range []recipes.Event{
		{Kind: recipes.EventSuspended, Token: 7, Session: 42}, {Kind: recipes.EventRestored, Token: 7, Session: 42},
		{Kind: recipes.EventEnded, Token: 7, Session: 42}, {Kind: recipes.EventLost, Token: 7, Session: 42},
		{Kind: recipes.EventSuspended}, // of whichever session it has then
	} {
		got := <-p.events
		if got.At.Before(claim.At) || time.Since(got.At) < 0 {
			t.Errorf("%s at %v, the grant was at %v", got.Kind, got.At, claim.At)
		}
		if got.At = (time.Time{}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// An event of an earlier client of the same number does not count for the current one.
func TestEvents_ofAnEarlierClientAreDropped(t *testing.T) {
	p, client := start(t, "late events")
	if e := <-p.events; e.Kind != recipes.EventSuspended || e.Session != 31 {
		t.Errorf("the first event is %+v", e)
	}
	if late := client.p.Late(); len(late) != 2 || !strings.Contains(late[0], "client 0, which was not open, was reported as lost") {
		t.Errorf("late are %q", late)
	}
}

// After the loss of a session only a client that promises to rejoin can acquire again.
func TestLost_whoPromisesToRejoinContinues(t *testing.T) {
	for mode, rejoins := range map[string]bool{"rejoins": true, "lost": false} {
		_, client := start(t, mode)
		if client.Rejoin() {
			t.Errorf("%s: it rejoins without a loss", mode)
		}
		if _, err := client.Acquire(t.Context()); !errors.Is(err, recipes.ErrSessionEnded) {
			t.Fatalf("%s: %v", mode, err)
		}
		if got := client.Rejoin(); got != rejoins {
			t.Errorf("%s: rejoins is %v", mode, got)
		}
		if _, err := client.Acquire(t.Context()); (err == nil) != rejoins {
			t.Errorf("%s: the next acquire: %v", mode, err)
		}
	}
}

func TestClaim_isWhatTheDriverSaysAndElseWhatTheWireShows(t *testing.T) {
	for mode, want := range map[string]recipes.Claim{
		"sound":   {Token: 7, Own: true, Session: 42, Path: "/lock/n-1"},
		"text":    {Token: 7, Own: true, Session: -1, Path: "/lock/n-1"},
		"doubles": {Token: 7, Own: true, Session: 42, Path: "/lock/seen-1"},
	} {
		_, client := start(t, mode)
		got, err := client.Acquire(t.Context())
		got.At = time.Time{}
		if got != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", mode, got, err, want)
		}
	}
}

// A token is the subject's own number where the wire shows another for its node; where nobody
// looks at the wire, it is what the subject says.
func TestSeen_whoseNumberATokenIs(t *testing.T) {
	wire := func() recipes.Claim { return recipes.Claim{Session: 42, Path: "/lock/n-1", Token: 3} }
	for _, row := range []struct {
		name  string
		seen  func() recipes.Claim
		token lines.Int64
		own   bool
	}{
		{"the czxid of its node", wire, 3, false},
		{"another number", wire, 7, true},
		{"0, which is another number", wire, 0, true},
		{"nobody looks", nil, 7, false},
	} {
		c := Client{env: recipes.Env{Seen: row.seen}}
		claim := c.seen(&lines.OK{Node: "/lock/n-1", Token: &row.token})
		if claim.Own != row.own || claim.Token != int64(row.token) {
			t.Errorf("%s: %+v, want own %v", row.name, claim, row.own)
		}
	}
}

func TestTimes_areTheDriversOwn(t *testing.T) {
	for mode, exact := range map[string]bool{"sound": true, "own clock": false} {
		_, client := start(t, mode)
		before := time.Now()
		_, err := client.Acquire(t.Context())
		must(t, err)
		got := client.Times()
		if got.Called.Before(before) || got.Returned.After(time.Now()) || got.Returned.Before(got.Called) {
			t.Errorf("%s: %+v", mode, got)
		}
		if runtime.GOOS == "linux" && (got.Error == 0) != exact {
			t.Errorf("%s: the clock is wrong by up to %v", mode, got.Error)
		}
	}
}

func TestProcesses_areAsManyAsTheClientsNeed(t *testing.T) {
	p, err := play(t, "two clients")
	must(t, err)
	for n, sharesWith := range []int{0, 0, 2, 2, 4} {
		c := p.client(t, n)
		if first := p.client(t, sharesWith); (c.p == first.p) != true {
			t.Errorf("client %d is not in the process of client %d", n, sharesWith)
		}
		if n >= 2 && c.p == p.client(t, 0).p {
			t.Errorf("client %d is in the first process, which carries two", n)
		}
	}
}

func TestStop_killsWhatDoesNotEndAndWhatThatHasStarted(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 10 s")
	}
	t.Parallel()
	child, err := stopped(t, "does not end")
	if err == nil || !strings.Contains(err.Error(), "must exit within 10s") {
		t.Errorf("got %v", err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("its child still runs")
		}
	}
}

func TestStop_doesNotWaitForWhoHasLeftTheGroup(t *testing.T) {
	child, err := stopped(t, "leaves somebody")
	must(t, err) // it exits at once
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Errorf("whom it left is not there: %v", err)
	}
}

// stopped starts and stops a toy. It returns the process id that the toy has printed, and Stop's error.
func stopped(t *testing.T, mode string) (pid int, stop error) {
	t.Helper()
	stderr := filepath.Join(t.TempDir(), "err")
	p, err := Launch(toyCommand("lock/toy", mode), site.Here{}, stderr, "test", nil)
	must(t, err)
	stop = p.Stop()
	text, _ := os.ReadFile(stderr)
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	return pid, stop
}

func TestStop_tellsOfAnExitWithAnError(t *testing.T) {
	p, err := Launch(toyCommand("lock/toy", "ends with an error"), site.Here{}, "", "test", nil)
	must(t, err)
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), `must exit with status 0, but ended with: exit status 3; it printed last "no cheese"`) {
		t.Errorf("got %v", err)
	}
}

func TestStart_ofAProgramThatIsNotThere(t *testing.T) {
	_, stop, err := Subject(Command{Name: "lock/none", Args: []string{"./no-such-program"}}).Start(t.Context(), recipes.Trial{})
	defer stop()
	if err == nil || !strings.Contains(err.Error(), "lock/none: start its driver") {
		t.Errorf("got %v", err)
	}
}

func TestSplit_splitsAsAShellDoes(t *testing.T) {
	got, err := Split(`python3 'my driver.py' --name "a b" c\ d`)
	if strings.Join(got, "|") != "python3|my driver.py|--name|a b|c d" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "  ", `"open`} {
		if _, err := Split(bad); err == nil {
			t.Errorf("%q was split", bad)
		}
	}
}
