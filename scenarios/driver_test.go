package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver"
	"github.com/zkbench/zkbench/recipes/driver/check"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/recipes/driver/templates"
	"github.com/zkbench/zkbench/recipes/foreign"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// The test binary is a driver as well, of the subject that is in this variable.
const driverKey = "ZKBENCH_TEST_SUBJECT"

func beDriver(name string) {
	switch name {
	case "minimal":
		minimal(nil).Main()
	case "leaves its listeners":
		minimal(strings.Split(os.Getenv("SERVERS"), ",")).Main()
	case "restores what is lost", "takes any session for the same":
		restoring(name == "restores what is lost").Main()
	case "stands in a folder":
		l := minimal(nil)
		open := l.Open
		l.Open = func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
			env.Parent += "/of/locks"
			return open(ctx, env)
		}
		l.Main()
	case "races":
		racing(recipes.RecipeLock).Main()
	case "races for permits":
		racing(recipes.RecipeSemaphore).Main()
	case "knows its node by its name":
		identity().Main()
	case "oversleeps":
		oversleeping().Main()
	case "answers ok":
		changing(func(answer map[string]any) {
			if answer["error"] != nil {
				delete(answer, "error")
				answer["ok"] = struct{}{}
			}
		})
	case "counts its grants":
		grants := 0
		changing(func(answer map[string]any) {
			if ok, is := answer["ok"].(map[string]any); is && ok["token"] != nil {
				grants++
				ok["token"] = grants
			}
		})
	case "sleeps after its loss":
		driver.Main(wrapped("lock/predecessor", func(c recipes.Client, env recipes.Env) recipes.Client {
			return sleeper{c.(recipes.Contender), env.Events}
		}))
	case "shares a node":
		driver.Main(wrapped("lock/predecessor", func(c recipes.Client, env recipes.Env) recipes.Client {
			return &sharer{heldContender: c.(heldContender), shares: env.Client >= 4}
		}))
	case "resigns":
		driver.Main(wrapped("lock/predecessor", func(c recipes.Client, env recipes.Env) recipes.Client {
			return &resigner{heldContender: c.(heldContender), events: env.Events}
		}))
	case "rejoins", "stays out":
		s := wrapped("lock/predecessor", func(c recipes.Client, env recipes.Env) recipes.Client {
			return &rejoiner{c.(heldContender), env, name == "stays out"}
		})
		s.Promises.Rejoins = true
		driver.Main(s)
	case "takes half of a zxid for its token":
		driver.Main(wrapped("lock/predecessor", func(c recipes.Client, _ recipes.Env) recipes.Client { return halfToken{c.(heldContender)} }))
	case "prints":
		driver.Main(wrapped("lock/predecessor", func(c recipes.Client, env recipes.Env) recipes.Client {
			if env.Client == 2 {
				time.AfterFunc(500*time.Millisecond, func() { fmt.Println("DEBUG: still here") })
			}
			return c
		}))
	}
	driver.Main(subject(name))
}

// subject returns a subject that is compiled in.
func subject(name string) recipes.Subject {
	s, err := recipes.Find(name)
	if err != nil {
		panic(err)
	}
	return s
}

// wrapped returns a subject whose clients are those of another, each changed by wrap.
func wrapped(name string, wrap func(c recipes.Client, env recipes.Env) recipes.Client) recipes.Subject {
	s := subject(name)
	open := s.Open
	s.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
		c, err := open(ctx, env)
		if err != nil {
			return nil, err
		}
		return wrap(c, env), nil
	}
	return s
}

var quiet = zk.WithLogger(log.New(io.Discard, "", 0))

// minimal is a driver that says as little as it may: no node, no token, no session, no
// events, no times, no cancel. With servers it connects to those.
func minimal(servers []string) driver.Lock {
	return driver.Lock{
		About: "zk.Lock", Promises: recipes.Promises{Exclusive: true, FIFO: true},
		Open: func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
			if servers != nil {
				env.Servers = servers
			}
			conn, err := driver.Connect(ctx, env, quiet)
			if err != nil {
				return driver.Mutex{}, err
			}
			return mutexOf(conn, env), nil
		},
	}
}

func mutexOf(conn *zk.Conn, env recipes.Env) driver.Mutex {
	lock := zk.NewLock(conn, env.Parent, zk.WorldACL(zk.PermAll))
	return driver.Mutex{Lock: func(context.Context) error { return lock.Lock() }, Unlock: lock.Unlock, Close: conn.Close}
}

// lineless is a lock, or a semaphore, whose waiters have no nodes. try returns the holder's node if it
// is ours, and otherwise an event after which to try again.
func lineless(r recipes.Recipe, about string, try func(*zk.Conn, recipes.Env) (node string, changed <-chan zk.Event, err error)) driver.Lock {
	return driver.Lock{
		About: about, Recipe: r, Promises: recipes.Promises{Exclusive: true}, Cancels: true,
		Open: func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
			conn, err := driver.Connect(ctx, env, quiet)
			if err != nil {
				return driver.Mutex{}, err
			}
			held := ""
			lock := func(ctx context.Context) error {
				for {
					node, changed, err := try(conn, env)
					if node != "" || err != nil {
						held = node
						return err
					}
					select {
					case <-changed:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
			}
			unlock := func() error {
				if err := conn.Delete(held, -1); !errors.Is(err, zk.ErrNoNode) { // it went with its session
					return err
				}
				return nil
			}
			return driver.Mutex{Lock: lock, Unlock: unlock, Close: conn.Close}, nil
		},
	}
}

// racing has a node for each permit, and all race for those.
func racing(r recipes.Recipe) driver.Lock {
	return lineless(r, "a node for each permit", func(conn *zk.Conn, env recipes.Env) (string, <-chan zk.Event, error) {
		_, _, changed, err := conn.ChildrenW(env.Parent)
		if err != nil {
			return "", nil, err
		}
		for i := range max(env.Permits, 1) {
			node := fmt.Sprintf("%s/holder-%d", env.Parent, i)
			if _, err := conn.Create(node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrNodeExists) {
				return node, nil, err
			}
		}
		return "", changed, nil
	})
}

// identity is a lock whose holder is whoever is named in its node, whichever session made it.
func identity() driver.Lock {
	return lineless(recipes.RecipeLock, "a node with the name of its holder", func(conn *zk.Conn, env recipes.Env) (string, <-chan zk.Event, error) {
		me, node := fmt.Sprint("client ", env.Client), env.Parent+"/holder"
		for {
			if _, err := conn.Create(node, []byte(me), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrNodeExists) {
				return node, nil, err
			}
			holder, _, changed, err := conn.GetW(node)
			if errors.Is(err, zk.ErrNoNode) {
				continue
			}
			if err != nil || string(holder) == me {
				return node, nil, err
			}
			return "", changed, nil
		}
	})
}

// oversleeping is minimal, but that client 2 misses its second wake-up: it waits for nothing.
func oversleeping() driver.Lock {
	l := minimal(nil)
	open := l.Open
	l.Open = func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
		m, err := open(ctx, env)
		lock, had := m.Lock, 0
		m.Lock = func(ctx context.Context) error {
			if had++; env.Client == 2 && had == 2 {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return lock(ctx)
		}
		return m, err
	}
	return l
}

// sleeper reports the loss of its session while it waits, and does not return from the acquire.
type sleeper struct {
	recipes.Contender
	events func(recipes.Event)
}

func (s sleeper) Acquire(ctx context.Context) (recipes.Claim, error) {
	claim, err := s.Contender.Acquire(ctx)
	if errors.Is(err, recipes.ErrSessionEnded) {
		s.events(recipes.Event{Kind: recipes.EventLost})
		<-ctx.Done()
	}
	return claim, err
}

// resigner ends each grant itself a moment after it began, and reports that.
type resigner struct {
	heldContender
	events func(recipes.Event)
	ended  chan struct{}
}

func (r *resigner) Acquire(ctx context.Context) (recipes.Claim, error) {
	claim, err := r.heldContender.Acquire(ctx)
	if err == nil {
		ended := make(chan struct{})
		r.ended = ended
		time.AfterFunc(5*time.Millisecond, func() {
			defer close(ended)
			r.events(recipes.Event{Kind: recipes.EventEnded, Token: claim.Token, Session: claim.Session})
			_ = r.heldContender.Release(context.Background())
		})
	}
	return claim, err
}

func (r *resigner) Release(context.Context) error {
	<-r.ended
	return nil
}

// sharer lets only one of the clients that share stand in line at a time; the others wait in this process.
type sharer struct {
	heldContender
	shares bool
}

var shared = make(chan struct{}, 1)

func (s *sharer) Acquire(ctx context.Context) (claim recipes.Claim, err error) {
	if s.shares {
		select {
		case shared <- struct{}{}:
		case <-ctx.Done():
			return claim, ctx.Err()
		}
	}
	if claim, err = s.heldContender.Acquire(ctx); err != nil && s.shares {
		<-shared
	}
	return claim, err
}

func (s *sharer) Release(ctx context.Context) error {
	err := s.heldContender.Release(ctx)
	if s.shares {
		<-shared
	}
	return err
}

// rejoiner opens a new session by itself and acquires there, unless it stays out: then every acquire
// after a loss fails.
type rejoiner struct {
	heldContender
	env recipes.Env
	out bool
}

func (r *rejoiner) Acquire(ctx context.Context) (recipes.Claim, error) {
	for {
		claim, err := r.heldContender.Acquire(ctx)
		if r.out || !errors.Is(err, recipes.ErrSessionEnded) {
			return claim, err
		}
		_ = r.Close(ctx)
		c, err := subject("lock/predecessor").Open(ctx, r.env)
		if err != nil {
			return recipes.Claim{}, err
		}
		r.heldContender = c.(heldContender)
	}
}

// halfToken has the low 32 bits of its node's czxid as its token, which begin at 0 again in every epoch.
type halfToken struct{ heldContender }

func (h halfToken) Acquire(ctx context.Context) (recipes.Claim, error) {
	claim, err := h.heldContender.Acquire(ctx)
	claim.Token &= math.MaxUint32
	return claim, err
}

type heldContender interface {
	recipes.Contender
	recipes.HeldReporter
}

// changing serves a lock whose answers change alters.
func changing(change func(answer map[string]any)) {
	said, out := io.Pipe()
	go func() {
		out.CloseWithError(driver.Serve(context.Background(), subject("lock/predecessor"), os.Stdin, out))
	}()
	for in := bufio.NewScanner(said); in.Scan(); {
		var answer map[string]any
		numbers := json.NewDecoder(strings.NewReader(in.Text()))
		numbers.UseNumber()
		if err := numbers.Decode(&answer); err != nil {
			panic(err)
		}
		change(answer)
		line, _ := json.Marshal(answer) // it has been decoded
		fmt.Println(string(line))
	}
	os.Exit(0)
}

// restoring is minimal, and says restored whenever it is connected again, in whichever
// session. losing says that it says lost before.
func restoring(losing bool) driver.Lock {
	l := minimal(nil)
	l.Promises.Events = true
	l.Open = func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
		var had, closed atomic.Bool // a session; its end
		conn, err := driver.Connect(ctx, env, quiet, zk.WithEventCallback(func(e zk.Event) {
			switch {
			case closed.Load():
			case e.State == zk.StateHasSession && had.Swap(true):
				env.Events(recipes.Event{Kind: recipes.EventRestored})
			case e.State == zk.StateDisconnected && had.Load():
				env.Events(recipes.Event{Kind: recipes.EventSuspended})
			case e.State == zk.StateExpired && losing:
				env.Events(recipes.Event{Kind: recipes.EventLost})
			}
		}))
		if err != nil {
			return driver.Mutex{}, err
		}
		m := mutexOf(conn, env)
		m.Close = func() { closed.Store(true); conn.Close() }
		return m, nil
	}
	return l
}

// asDriver is a driver of that name in a scenario.
func asDriver(name, subject string) string {
	return fmt.Sprintf("{name: %s, exec: %q, env: {%s: %q, SERVERS: %q}}", name, "'"+os.Args[0]+"'", driverKey, subject, strings.Join(ensemble.Servers(), ","))
}

func TestDriver_besideOursInOneRun(t *testing.T) {
	subjects := "lock/predecessor, " + asDriver("lock/ours", "lock/predecessor") + ", " + asDriver("lock/minimal", "minimal")
	trials := runTrials(t, `{name: drivers, subjects: [`+subjects+`], clients: [5], session_timeout: 4s, phases: [
		{name: drain, kind: drain, rounds: 2, hold: 5ms},
		{name: churn, kind: churn, duration: 3s, faults: [{at: 1s, fault: session.close, target: holder}]}]}`)
	for name, trial := range trials {
		nothingFailed(t, trial)
		if !strings.Contains(name, "minimal") {
			sound(t, trial, verdict.FanOut)
		}
		value(t, trial, "throughput")
	}
	ours, in := trials["drivers-lock-ours-5"], trials["drivers-lock-predecessor-5"]
	if p := ours.Metrics["pipe.roundtrip"]; p.P50 == nil || *p.P50 <= 0 {
		t.Errorf("the pipe's round trip is %+v", p)
	}
	if a, b := *value(t, ours, "fanout.notifications").Value, *value(t, in, "fanout.notifications").Value; a != b {
		t.Errorf("as a driver a hand-off wakes %v, and %v without", a, b)
	}
}

func TestDriver_needNotStandBelowThePathNorInALine(t *testing.T) {
	subjects := asDriver("lock/in-a-folder", "stands in a folder") + ", " + asDriver("lock/races", "races")
	for _, trial := range runTrials(t, `{name: drivers, subjects: [`+subjects+`], clients: [3], session_timeout: 4s,
		phases: [{name: drain, kind: drain, rounds: 1, hold: 5ms}, {name: crash, kind: failover, rounds: 1, cause: crash}]}`) {
		sound(t, trial, verdict.FanOut)
	}
}

// driven is a scenario of one driver.
func driven(name, subject, phase string) string {
	return "{name: drivers, subjects: [" + asDriver(name, subject) + "], clients: [3], session_timeout: 2s, phases: [" + phase + "]}"
}

func TestDriver_mayCountItsGrantsInstead(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, driven("lock/counts", "counts its grants",
		"{name: churn, kind: churn, duration: 3s, faults: [{at: 1s, fault: session.close, target: holder}]}")) {
		sound(t, trial, verdict.FanOut)
	}
}

// Whoever is not woken is found beside others who are. It takes some 7 s, and is looked for every
// few: a look is worth nothing where the member that serves the sleeper is behind at that moment.
func TestDriver_whoOversleepsIsFound(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, driven("lock/oversleeps", "oversleeps", "{name: churn, kind: churn, duration: 14s}")) {
		judged(t, trial, verdict.Progress, report.Fail, "client 2 waited")
	}
}

// That holds for a client of one of several locks, too. The hold leaves the members time to list all watches between two grants.
func TestDriver_whoOversleepsOnAPathIsFound(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, `{name: drivers, subjects: [`+asDriver("lock/oversleeps", "oversleeps")+`], clients: [6], paths: 2, session_timeout: 2s,
		phases: [{name: churn, kind: churn, duration: 16s, hold: 50ms}]}`) {
		judged(t, trial, verdict.Progress, report.Fail, "path 0: client 2 waited", "(1 of 2 paths)")
	}
}

func TestDriver_minimalFailsOver(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, driven("lock/minimal", "minimal", "{name: crash, kind: failover, rounds: 2, cause: crash}")) {
		if v := trial.Metrics["failover.latency"]; v.Count == nil || *v.Count != 2 {
			t.Errorf("failovers: %+v", v)
		}
	}
}

// The items of a queue are found in the commits, padded as they are.
func TestDriver_aQueueHandsOutWhatWasPut(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, driven("queue/ours", "queue/parent", "{name: churn, kind: churn, duration: 2s, size: 100}")) {
		sound(t, trial)
		judged(t, trial, verdict.QueueFIFO, report.Pass, "by the servers' commits")
	}
}

// A trial that a driver ends says why, and loses nothing of what was measured.
func TestDriver_thatCannotBePlayed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, subject, want string }{
		{"lock/prints", "prints", "one JSON object: DEBUG: still here"},
		{"lock/leaves", "leaves its listeners", "did not connect through zkbench's listeners"},
		{"election/mine", "lock/parent", `the name election/mine requires recipe election, but the hello has recipe "lock"`},
	} {
		records := played(t, driven(row.name, row.subject, "{name: churn, kind: churn, duration: 2s}"))
		if why := only[*history.TrialFailure](t, records).Why; !strings.Contains(why, row.want) {
			t.Errorf("%s was not played because %q", row.name, why)
		}
		if row.subject == "prints" && len(of[*history.Sample](records)) == 0 {
			t.Error("nothing of what was measured is left")
		}
	}
}

func TestCheckDriver_findsOursSound(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lock/predecessor", "election/parent", "queue/predecessor", "barrier/parent", "minimal"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keepsTheProtocol(t, testDriver(name))
		})
	}
}

// What other people's recipes do is theirs: an election that ends a term with the connection, and a try
// of no time at all that cannot know yet, are sound.
func TestCheckDriver_findsOthersSound(t *testing.T) {
	t.Parallel()
	for _, d := range foreign.Drivers() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			must(t, d.Library.Missing())
			args, err := d.Library.Command(t.Context(), d.Program)
			must(t, err)
			keepsTheProtocol(t, host.Command{Name: d.Name, Args: args})
		})
	}
}

// The Python template, and with another recipe of kazoo in the marked places, drives each kind.
func TestCheckDriver_findsTheTemplateSound(t *testing.T) {
	t.Parallel()
	for kind, with := range map[string][2]string{
		"lock":      {"Lock(self.zk, self.path)", "{\"node\": self.path + \"/\" + self.lock.node}"},
		"rwlock":    {"(self.zk.ReadLock if self.mode == \"read\" else self.zk.WriteLock)(self.path)", "{}"},
		"semaphore": {"self.zk.Semaphore(self.path + \"/leases\", max_leases=self.size)", "{}"},
		"barrier":   {"self.zk.DoubleBarrier(self.path, self.size)", "{}"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("RECIPE = \"lock\"", "RECIPE = \""+kind+"\"", "Lock(self.zk, self.path)", with[0],
				"{\"node\": self.path + \"/\" + self.lock.node}", with[1]).Replace(templates.Python)
			if kind == "barrier" { // kazoo's cannot be cancelled
				text = strings.NewReplacer("lock.acquire()", "lock.enter()", "lock.release()", "lock.leave()", "def cancel(self)", "def uncancelled(self)", "lock.cancel()", "lock").Replace(text)
			}
			file := filepath.Join(t.TempDir(), "lock.py")
			must(t, os.WriteFile(file, []byte(text), 0o600))
			keepsTheProtocol(t, host.Command{Args: []string{"/usr/bin/python3", file}})
		})
	}
}

// testDriver is the command of the test binary as a driver.
func testDriver(name string) host.Command {
	return host.Command{Args: []string{os.Args[0]}, Env: []string{driverKey + "=" + name}}
}

// wrongSteps checks a driver, and returns the steps that are wrong by their names, and the last step's name.
func wrongSteps(t *testing.T, c host.Command) (wrong map[string]check.Step, last string) {
	t.Helper()
	wrong = map[string]check.Step{}
	must(t, checkDriverOn(t.Context(), ensemble, c, "", func(s check.Step) {
		if last = s.Name; s.Result != check.OK && s.Result != check.NotOffered {
			wrong[s.Name] = s
		}
	}))
	return wrong, last
}

func keepsTheProtocol(t *testing.T, c host.Command) {
	t.Helper()
	wrong, last := wrongSteps(t, c)
	for _, s := range wrong {
		t.Errorf("%s: %s: %s\n%s", s.Name, s.Result, s.Why, strings.Join(s.Exchange, "\n"))
	}
	if last != "end of stdin" {
		t.Errorf("the last step was %q", last)
	}
}

func TestCheckDriver_showsTheExchangeOfWhatIsWrong(t *testing.T) {
	t.Parallel()
	wrong, _ := wrongSteps(t, testDriver("prints"))
	for _, s := range wrong {
		if len(wrong) != 1 || !strings.Contains(s.Why, "DEBUG: still here") || len(s.Exchange) == 0 {
			t.Errorf("found %+v", wrong)
		}
	}
	if len(wrong) == 0 {
		t.Error("found nothing")
	}
}

// What is answered or reported, and what should have been, are in one sentence. A client library calls a new
// session connected, as it does the same session: a driver that passes that on says restored of what is lost.
func TestCheckDriver_saysWhatWasAnswered(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]map[string]string{
		"answers ok": {
			"not open":     "the client is not open, but acquire of client 1000000 was answered ok instead of with an error of kind failed",
			"nothing held": "the client holds nothing, but release of client 1 was answered ok instead of with an error of kind failed",
			"unknown op":   "the op frobnicate does not exist, but it was answered ok instead of with an error of kind unsupported",
		},
		"restores what is lost": {
			"lost session": "has ended, but the client reported lost and then restored; restored must not follow lost, and a new session must not be reported",
		},
		"takes any session for the same": {
			"lost session": "has ended, but the client reported restored, not lost; restored is for the same session only, and a new session must not be reported",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, _ := wrongSteps(t, testDriver(name))
			for step, want := range steps {
				if s := wrong[step]; s.Result != check.Wrong || !strings.Contains(s.Why, want) {
					t.Errorf("%s: got %+v, want %q", step, s, want)
				}
				if step == "lost session" && !strings.Contains(strings.Join(wrong[step].Exchange, "\n"), `"restored"`) {
					t.Errorf("the exchange does not show it: %q", wrong[step].Exchange)
				}
			}
		})
	}
}

func TestLoad_driversOfASubject(t *testing.T) {
	s := load(t, "name: x\nsubjects: [lock/parent, "+asDriver("lock/mine", "lock/parent")+"]"+aChurn,
		"exec=lock/other='"+os.Args[0]+"' --flag", "subjects=[lock/other, lock/mine]")
	if len(s.Drivers) != 2 || s.Drivers[1].Exec != "'"+os.Args[0]+"' --flag" || s.Drivers[0].Env[driverKey] != "lock/parent" {
		t.Errorf("drivers %+v", s.Drivers)
	}
	text, err := s.Dump()
	must(t, err)
	if again := load(t, string(text)); len(again.Drivers) != 2 {
		t.Errorf("the scenario that is kept has drivers %+v", again.Drivers)
	}
}

const aChurn = `
clients: [3]
session_timeout: 4s
phases: [{name: churn, kind: churn, duration: 2s}]
`

func TestLoad_driversOfEveryKind(t *testing.T) {
	for _, kind := range recipes.Recipes {
		name := string(kind) + "/mine"
		if s := load(t, "name: x\nsubjects: ["+asDriver(name, string(kind)+"/parent")+"]"+aChurn); s.Subjects[0] != name {
			t.Errorf("%s: %q", kind, s.Subjects)
		}
		load(t, "name: x\nsubjects: [lock/parent]"+aChurn, "exec="+name+"='"+os.Args[0]+"'", "subjects=["+name+"]")
	}
}

// driversLeft returns the processes of drivers that are left, stopped or not.
func driversLeft() (left []state.Process) {
	for p, owner := range state.FindByVariable(host.Mark) {
		if owner == state.Self().String() {
			left = append(left, p)
		}
	}
	return left
}

func TestFaults_thatOnlyAProcessCanHave(t *testing.T) {
	t.Parallel()
	histories := newRunner(t).play(t, `{name: processes, subjects: [`+asDriver("lock/ours", "lock/predecessor")+`], clients: [3], session_timeout: 1s,
		phases: [{name: churn, kind: churn, duration: 8s, hold: 20ms, faults: [
			{at: 200ms, fault: client.pause, target: holder, for: 200ms},
			{at: 1s, fault: client.kill, target: "1", for: 500ms},
			{at: 2500ms, fault: client.restart, target: holder}]}]}`)
	records := recordsOf(t, histories[0])
	killed := map[int]bool{}
	for _, s := range of[*history.Session](records) {
		if s.Event == history.Killed {
			killed[s.Client] = true
		}
	}
	proofs := map[string]string{"client.pause": "state T", "client.kill": " ended (", "client.restart": "the client had the new session"}
	for _, w := range of[*history.Window](records) {
		if w.Err != "" || !strings.Contains(w.Proof, proofs[w.Fault]) {
			t.Errorf("%s: proof %q, error %q", w.Fault, w.Proof, w.Err)
		}
		if len(w.Served) > 0 {
			t.Errorf("%s of client %d hit %v as well: each has a process of its own", w.Fault, w.Client, w.Served)
		}
		if w.Fault != "client.pause" && !killed[w.Client] {
			t.Errorf("%s: client %d is not killed in the history", w.Fault, w.Client)
		}
		delete(proofs, w.Fault)
	}
	if len(proofs) > 0 {
		t.Errorf("not played: %v", proofs)
	}
	for _, trial := range trialsOf(t, histories) {
		nothingFailed(t, trial)
	}
}

func TestFaults_aRunThatIsInterruptedLeavesNothingStopped(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r := newRunner(t)
	r.Progress = func(stage.Status) {
		if slices.ContainsFunc(driversLeft(), state.Process.Stopped) {
			interrupt()
		}
	}
	if err := r.begin(ctx, t, `{name: interrupted, subjects: [`+asDriver("lock/ours", "lock/predecessor")+`], clients: [2], session_timeout: 1s,
		phases: [{name: churn, kind: churn, duration: 1m, hold: 5ms, faults: [
			{at: 0s, fault: client.pause, target: "0", for: 50s}, {at: 0s, fault: client.kill, target: "1", for: 50s}]}]}`); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if left := driversLeft(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestFaults_hitAllClientsOfAProcess(t *testing.T) {
	t.Parallel()
	ours := strings.Replace(asDriver("lock/ours", "lock/predecessor"), "{name", "{processes: 1, name", 1)
	w := only[*history.Window](t, played(t, `{name: processes, subjects: [`+ours+`], clients: [3], session_timeout: 1s,
		phases: [{name: churn, kind: churn, duration: 6s, hold: 50ms, faults: [{at: 200ms, fault: client.restart, target: "1"}]}]}`))
	if w.Err != "" || fmt.Sprint(w.Served) != "[0 2]" || !strings.Contains(w.Target, "in the same process clients 0, 2") {
		t.Errorf("%+v", w)
	}
}

// A driver is upgraded while its lock is in use: the clients' processes are replaced by those of another, one
// after the other.
func TestFaults_restartClientsAsAnotherSubject(t *testing.T) {
	t.Parallel()
	var faults []string
	for i := range 3 {
		faults = append(faults, fmt.Sprintf("{at: %dms, fault: client.restart, target: \"%d\", params: {as: lock/new}, essential: true}", 300+2500*i, i))
	}
	trial := runTrials(t, `{name: upgraded, subjects: [`+asDriver("lock/old", "lock/predecessor")+`],
		drivers: [`+asDriver("lock/new", "lock/predecessor")+`], clients: [3], session_timeout: 1s, phases: [
			{name: churn, kind: churn, duration: 9s, hold: 20ms, faults: [`+strings.Join(faults, ", ")+`]},
			{name: after, kind: churn, duration: 1s, hold: 20ms}]}`)["upgraded-lock-old-3"]
	sound(t, trial)
	if len(trial.Faults) != 3 {
		t.Fatalf("%d faults", len(trial.Faults))
	}
	for _, w := range trial.Faults {
		if !strings.Contains(w.Proof, "it was started again as lock/new") {
			t.Errorf("proof: %q", w.Proof)
		}
	}
}

// The other program really runs: it breaks the protocol as soon as it serves client 2.
func TestFaults_restartRunsTheOtherProgram(t *testing.T) {
	t.Parallel()
	if why := failureOf(t, newRunner(t).play(t, `{name: other, subjects: [`+asDriver("lock/old", "lock/predecessor")+`],
		drivers: [`+asDriver("lock/new", "prints")+`], clients: [3], session_timeout: 1s, phases: [{name: churn, kind: churn, duration: 8s,
			hold: 20ms, faults: [{at: 300ms, fault: client.restart, target: "2", params: {as: lock/new}}]}]}`)[0]); !strings.Contains(why, "DEBUG: still here") {
		t.Errorf("got %s", why)
	}
}

// A holder that is stopped past its session and goes on has lost it to another, and is
// stopped by the token: that cannot depend on luck. When it is told does.
func TestPausedHolder_goesOn(t *testing.T) {
	t.Parallel()
	subjects := asDriver("lock/ours", "lock/predecessor") + ", " + asDriver("lock/silent", "minimal")
	for name, trial := range runTrials(t, `{name: paused, subjects: [`+subjects+`], clients: [2], session_timeout: 1s,
		phases: [{name: pause, kind: failover, cause: pause, rounds: 1, hold: 10ms}]}`) {
		nothingFailed(t, trial)
		stopped := value(t, trial, "pause.writes_fenced")
		if *stopped.Count < 1 || *stopped.Value != float64(*stopped.Count) {
			t.Errorf("%s: of %d late writes the token stopped %v", name, *stopped.Count, *stopped.Value)
		}
		silent := strings.Contains(name, "silent")
		if through, offered := trial.Metrics["pause.writes_accepted"]; offered == silent {
			t.Errorf("%s: unfenced writes: %+v", name, through)
		}
		if belief := trial.Metrics["pause.false_belief"]; belief.Count == nil || *belief.Count != 1 || *belief.Min <= 0 {
			t.Errorf("%s: false belief %+v", name, belief)
		}
		// A driver without events is never told.
		if told, ok := trial.Metrics["pause.notice"]; ok == silent || !silent && told.Count == nil {
			t.Errorf("%s was told: %+v", name, told)
		}
	}
}

func TestAudit_pausesADriversProcessAtAStep(t *testing.T) {
	t.Parallel()
	for _, f := range newRunner(t).play(t, audited(asDriver("lock/ours", "lock/predecessor"), "next getChildren2 #1/client.pause", "holder hold #1/client.pause")) {
		w := only[*history.Window](t, recordsOf(t, f))
		if w.Err != "" || !strings.Contains(w.Proof, "state T") || !strings.Contains(w.Proof, "no longer listed session") {
			t.Errorf("%+v", w)
		}
	}
}

func TestFaults_hitTheNextInLine(t *testing.T) {
	t.Parallel()
	records := played(t, `{name: next, subjects: [`+asDriver("lock/ours", "lock/predecessor")+`], clients: [4], session_timeout: 2s,
		phases: [{name: churn, kind: churn, duration: 4s, hold: 8s, faults: [{at: 300ms, fault: session.close, target: next}]}]}`)
	// Whoever holds at 300 ms holds when the fault strikes, too.
	w := only[*history.Window](t, records)
	if w.Err != "" || !strings.Contains(w.Target, "(next)") {
		t.Fatalf("%+v", w)
	}
	var holder int // at that time
	for _, s := range of[*history.Sample](records) {
		if s.Op == history.Acquire && s.Outcome == history.OK && s.Return < w.Start {
			holder = s.Client
		}
	}
	if w.Client == holder {
		t.Errorf("client %d held then", holder)
	}
}

// Of several locks, the next client is behind the holder of its own lock: it holds none.
func TestFaults_hitTheNextInLineOfThePath(t *testing.T) {
	t.Parallel()
	records := played(t, `{name: next, subjects: [`+asDriver("lock/ours", "lock/predecessor")+`], clients: [9], paths: 3, session_timeout: 2s,
		phases: [{name: churn, kind: churn, duration: 6s, hold: 8s, faults: [{at: 2s, fault: session.close, target: next}]}]}`)
	w := only[*history.Window](t, records)
	if w.Err != "" || !strings.Contains(w.Target, "(next)") {
		t.Fatalf("%+v", w)
	}
	holders := map[int]bool{}
	for _, s := range of[*history.Sample](records) {
		if s.Op == history.Acquire && s.Outcome == history.OK && s.Return < w.Start {
			holders[s.Client] = true
		}
	}
	if len(holders) != 3 || holders[w.Client] {
		t.Errorf("client %d was hit, and %v hold: want a client that waits", w.Client, holders)
	}
}

func TestApart_runsWhatIsCompiledInAsDrivers(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.Driver = []string{"/usr/bin/env", driverKey + "=lock/parent", os.Args[0]} // the test binary is the driver
	trial := trialOf(t, r.play(t, `{name: apart, subjects: [lock/parent], apart: true, clients: [2], session_timeout: 1s,
		phases: [{name: churn, kind: churn, duration: 1s, hold: 1ms}]}`)[0])
	if p := trial.Metrics["pipe.roundtrip"]; p.P50 == nil {
		t.Error("it had no pipe: it ran in this process")
	}
	if trial.Formulas["hand-off"] == "" {
		t.Errorf("what is known of it is lost: formulas %v", trial.Formulas)
	}
}

// theirs is an external ensemble of one member with commands.
func theirs(c ensembles.Commands) ensembles.Options {
	return ensembles.Options{Servers: []string{"zk1:2181"}, External: ensembles.ExternalConfig{Commands: []ensembles.Commands{c}, File: "theirs.yaml"}}
}

func TestConfig_externalNeedsTheCommandsOfItsFaults(t *testing.T) {
	a := []string{"true"}
	for name, test := range map[string]struct {
		fault    string
		commands ensembles.Commands
		want     string
	}{
		"a crash by its command":                      {"member.kill", ensembles.Commands{Kill: a, Start: a}, ""},
		"a crash by the command to stop":              {"member.kill", ensembles.Commands{Stop: a, Start: a}, ""},
		"a crash without a command":                   {"member.kill", ensembles.Commands{Pause: a, Resume: a}, "member.kill needs kill and start for every member, but the entry of zk1:2181 in theirs.yaml is incomplete"},
		"a cut from all":                              {"partition.isolate", ensembles.Commands{Isolate: a, Heal: a}, ""},
		"a cut from peers that has no place for them": {"partition.peers", ensembles.Commands{Isolate: a, Heal: a}, "needs {peers}"},
		"a cut from peers":                            {"partition.peers", ensembles.Commands{Isolate: []string{"cut", "{peers}"}, Heal: a}, ""},
		"packets that are lost":                       {"link.loss", ensembles.Commands{Isolate: a, Heal: a}, "cannot be injected by commands"},
	} {
		t.Run(name, func(t *testing.T) {
			s := load(t, churnOf("[2]", "{at: 1s, fault: "+test.fault+"}"))
			refused(t, Config{Scenario: s, Ensemble: theirs(test.commands)}.Validate(), test.want)
		})
	}
}

func TestConfig_Commands_areThoseThatMayBeExecuted(t *testing.T) {
	c := Config{Scenario: load(t, churnOf("[2]", "{at: 1s, fault: member.kill}")), Ensemble: theirs(ensembles.Commands{
		Stop: []string{"ssh", "zk1", "stop it"}, Start: []string{"ssh", "zk1", "start"}, Pause: []string{"true"}, Resume: []string{"true"}, Log: []string{"tar"},
	})}
	want := []string{
		"phase p, member.kill: zk1 kill: ssh zk1 'stop it'",
		"phase p, member.kill: zk1 start: ssh zk1 start",
		"after each trial: zk1 log: tar",
	}
	if got := c.Commands(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
