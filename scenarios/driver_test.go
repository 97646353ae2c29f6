package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"reflect"
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
	"github.com/zkbench/zkbench/scenarios/spec"
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
		answeringOK()
	case "counts its grants":
		counting()
	case "sleeps after its loss":
		s, _ := recipes.Find("lock/predecessor")
		open := s.Open
		s.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			c, err := open(ctx, env)
			if err != nil {
				return nil, err
			}
			return sleeper{c.(recipes.Contender), env.Events}, nil
		}
		driver.Main(s)
	case "rejoins", "stays out":
		s, _ := recipes.Find("lock/predecessor")
		s.Promises.Rejoins = true
		open := s.Open
		s.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			c, err := open(ctx, env)
			if err != nil {
				return nil, err
			}
			again := func(ctx context.Context) (recipes.Client, error) { return open(ctx, env) }
			return &rejoiner{c.(heldContender), again, name == "stays out"}, nil
		}
		driver.Main(s)
	case "prints":
		s, _ := recipes.Find("lock/predecessor")
		open := s.Open
		s.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			if env.Client == 2 {
				time.AfterFunc(500*time.Millisecond, func() { fmt.Println("DEBUG: still here") })
			}
			return open(ctx, env)
		}
		driver.Main(s)
	}
	s, err := recipes.Find(name)
	if err != nil {
		panic(err)
	}
	driver.Main(s)
}

// minimal is a driver that says as little as it may: no node, no token, no session, no
// events, no times, no cancel. With servers it connects to those.
func minimal(servers []string) driver.Lock {
	return driver.Lock{
		About: "zk.Lock", Promises: recipes.Promises{Exclusive: true, FIFO: true},
		Open: func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
			if servers != nil {
				env.Servers = servers
			}
			conn, err := driver.Connect(ctx, env, zk.WithLogger(log.New(io.Discard, "", 0)))
			if err != nil {
				return driver.Mutex{}, err
			}
			lock := zk.NewLock(conn, env.Parent, zk.WorldACL(zk.PermAll))
			return driver.Mutex{Lock: func(context.Context) error { return lock.Lock() }, Unlock: lock.Unlock, Close: conn.Close}, nil
		},
	}
}

// racing is a lock, or a semaphore, whose waiters have no nodes: there is one for each permit, and all race
// for those.
func racing(r recipes.Recipe) driver.Lock {
	return driver.Lock{
		About: "a node for each permit", Recipe: r, Promises: recipes.Promises{Exclusive: true}, Cancels: true,
		Open: func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
			conn, err := driver.Connect(ctx, env, zk.WithLogger(log.New(io.Discard, "", 0)))
			if err != nil {
				return driver.Mutex{}, err
			}
			held := ""
			lock := func(ctx context.Context) error {
				for {
					_, _, changed, err := conn.ChildrenW(env.Parent)
					if err != nil {
						return err
					}
					for i := range max(env.Permits, 1) {
						held = fmt.Sprintf("%s/holder-%d", env.Parent, i)
						if _, err := conn.Create(held, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrNodeExists) {
							return err
						}
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

// identity is a lock whose holder is whoever is named in its node, whichever session made it.
func identity() driver.Lock {
	return driver.Lock{
		About: "a node with the name of its holder", Recipe: recipes.RecipeLock, Promises: recipes.Promises{Exclusive: true}, Cancels: true,
		Open: func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
			conn, err := driver.Connect(ctx, env, zk.WithLogger(log.New(io.Discard, "", 0)))
			if err != nil {
				return driver.Mutex{}, err
			}
			me, node := fmt.Sprint("client ", env.Client), env.Parent+"/holder"
			lock := func(ctx context.Context) error {
				for {
					_, err := conn.Create(node, []byte(me), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
					if !errors.Is(err, zk.ErrNodeExists) {
						return err
					}
					holder, _, changed, err := conn.GetW(node)
					if errors.Is(err, zk.ErrNoNode) {
						continue
					}
					if err != nil || string(holder) == me {
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
				if err := conn.Delete(node, -1); !errors.Is(err, zk.ErrNoNode) {
					return err
				}
				return nil
			}
			return driver.Mutex{Lock: lock, Unlock: unlock, Close: conn.Close}, nil
		},
	}
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

// rejoiner opens a new session by itself and acquires there, unless it stays out: then every acquire
// after a loss fails.
type rejoiner struct {
	heldContender
	open func(context.Context) (recipes.Client, error)
	out  bool
}

func (r *rejoiner) Acquire(ctx context.Context) (recipes.Claim, error) {
	for {
		claim, err := r.heldContender.Acquire(ctx)
		if r.out || !errors.Is(err, recipes.ErrSessionEnded) {
			return claim, err
		}
		_ = r.Close(ctx)
		c, err := r.open(ctx)
		if err != nil {
			return recipes.Claim{}, err
		}
		r.heldContender = c.(heldContender)
	}
}

type heldContender interface {
	recipes.Contender
	recipes.HeldReporter
}

// answeringOK serves a lock, and answers ok where that refuses.
func answeringOK() {
	said, out := io.Pipe()
	s, _ := recipes.Find("lock/predecessor")
	go func() { out.CloseWithError(driver.Serve(context.Background(), s, os.Stdin, out)) }()
	for in := bufio.NewScanner(said); in.Scan(); {
		var answer struct {
			ID    json.RawMessage
			Error json.RawMessage
		}
		line := in.Text()
		if err := json.Unmarshal(in.Bytes(), &answer); err == nil && answer.Error != nil {
			line = fmt.Sprintf(`{"id":%s,"ok":{}}`, answer.ID)
		}
		fmt.Println(line)
	}
	os.Exit(0)
}

// Counting serves a lock whose token is the number of its grants so far.
func counting() {
	said, out := io.Pipe()
	s, _ := recipes.Find("lock/predecessor")
	go func() { out.CloseWithError(driver.Serve(context.Background(), s, os.Stdin, out)) }()
	grants := 0
	for in := bufio.NewScanner(said); in.Scan(); {
		var answer map[string]any
		numbers := json.NewDecoder(strings.NewReader(in.Text()))
		numbers.UseNumber()
		if err := numbers.Decode(&answer); err != nil {
			panic(err)
		}
		if ok, is := answer["ok"].(map[string]any); is && ok["token"] != nil {
			grants++
			ok["token"] = grants
		}
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
		conn, states, err := zk.Connect(env.Servers, env.Timeout, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			return driver.Mutex{}, err
		}
		connected := make(chan struct{})
		var closed atomic.Bool // then there are no events
		go func() {
			had := false // a session
			for e := range states {
				switch {
				case closed.Load():
				case e.State == zk.StateHasSession && !had:
					had = true
					close(connected)
				case e.State == zk.StateHasSession:
					env.Events(recipes.Event{Kind: recipes.EventRestored})
				case e.State == zk.StateDisconnected && had:
					env.Events(recipes.Event{Kind: recipes.EventSuspended})
				case e.State == zk.StateExpired && losing:
					env.Events(recipes.Event{Kind: recipes.EventLost})
				}
			}
		}()
		select {
		case <-connected:
		case <-ctx.Done():
			conn.Close()
			return driver.Mutex{}, context.Cause(ctx)
		}
		lock := zk.NewLock(conn, env.Parent, zk.WorldACL(zk.PermAll))
		return driver.Mutex{Lock: func(context.Context) error { return lock.Lock() }, Unlock: lock.Unlock, Close: func() { closed.Store(true); conn.Close() }}, nil
	}
	return l
}

// asDriver is a driver of that name in a scenario.
func asDriver(name, subject string) string {
	return fmt.Sprintf("{name: %s, exec: %q, env: {%s: %q, SERVERS: %q}}", name, "'"+os.Args[0]+"'", driverKey, subject, strings.Join(ensemble.Servers(), ","))
}

func TestDriver_besideOursInOneRun(t *testing.T) {
	trials := runTrials(t, `
name: drivers
subjects: [lock/predecessor, `+asDriver("lock/ours", "lock/predecessor")+`, `+asDriver("lock/minimal", "minimal")+`]
clients: [5]
session_timeout: 4s
phases:
  - {name: drain, kind: drain, rounds: 2, hold: 5ms}
  - {name: churn, kind: churn, duration: 3s, faults: [{at: 1s, fault: session.close, target: holder}]}
`)
	for name, trial := range trials {
		for _, v := range trial.Verdicts {
			if v.Result == "fail" || v.Result == "unknown" && v.Guarantee != "harness-health" && v.Guarantee != "fan-out" && !strings.Contains(name, "minimal") {
				t.Errorf("%s: %s is %s: %q", name, v.Guarantee, v.Result, v.Reasons)
			}
		}
		if value(t, trial, "throughput").Value == nil {
			t.Errorf("%s: nothing was granted", name)
		}
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
	trials := runTrials(t, `
name: drivers
subjects: [`+asDriver("lock/in-a-folder", "stands in a folder")+`, `+asDriver("lock/races", "races")+`]
clients: [3]
session_timeout: 4s
phases:
  - {name: drain, kind: drain, rounds: 1, hold: 5ms}
  - {name: crash, kind: failover, rounds: 1, cause: crash}
`)
	for name, trial := range trials {
		nothingAmiss(t, name, trial, "harness-health", "fan-out")
	}
}

func TestDriver_mayCountItsGrantsInstead(t *testing.T) {
	t.Parallel()
	trials := runTrials(t, `
name: drivers
subjects: [`+asDriver("lock/counts", "counts its grants")+`]
clients: [3]
session_timeout: 4s
phases: [{name: churn, kind: churn, duration: 3s, faults: [{at: 1s, fault: session.close, target: holder}]}]
`)
	for name, trial := range trials {
		nothingAmiss(t, name, trial, "harness-health", "fan-out")
	}
}

// nothingAmiss fails the test where a verdict failed, or could not be given but for these.
func nothingAmiss(t *testing.T, name string, trial report.Trial, open ...string) {
	t.Helper()
	for _, v := range trial.Verdicts {
		if v.Result == report.Fail || v.Result == report.Unknown && !slices.Contains(open, v.Guarantee) {
			t.Errorf("%s: %s is %s: %q", name, v.Guarantee, v.Result, v.Reasons)
		}
	}
}

// Whoever is not woken is found beside others who are. It takes some 7 s, and is looked for every
// few: a look is worth nothing where the member that serves the sleeper is behind at that moment.
func TestDriver_whoOversleepsIsFound(t *testing.T) {
	for name, trial := range runTrials(t, `
name: drivers
subjects: [`+asDriver("lock/oversleeps", "oversleeps")+`]
clients: [3]
session_timeout: 2s
phases: [{name: churn, kind: churn, duration: 14s}]
`) {
		i := slices.IndexFunc(trial.Verdicts, func(v report.Verdict) bool { return v.Guarantee == "progress" })
		if v := trial.Verdicts[i]; v.Result != "fail" || !strings.Contains(fmt.Sprint(v.Reasons), "client 2 waited") {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestDriver_minimalFailsOver(t *testing.T) {
	t.Parallel()
	trials := runTrials(t, `
name: drivers
subjects: [`+asDriver("lock/minimal", "minimal")+`]
clients: [3]
session_timeout: 2s
phases: [{name: crash, kind: failover, rounds: 2, cause: crash}]
`)
	for _, trial := range trials {
		if v := trial.Metrics["failover.latency"]; v.Count == nil || *v.Count != 2 {
			t.Errorf("failovers: %+v", v)
		}
	}
}

func TestDriver_aQueueHandsOutWhatWasPut(t *testing.T) {
	for name, trial := range runTrials(t, `
name: drivers
subjects: [`+asDriver("queue/ours", "queue/parent")+`]
clients: [4]
session_timeout: 4s
phases: [{name: churn, kind: churn, duration: 2s, size: 100}]
`) {
		nothingAmiss(t, name, trial, "harness-health")
		// Its items are found in the commits, padded as they are.
		i := slices.IndexFunc(trial.Verdicts, func(v report.Verdict) bool { return v.Guarantee == verdict.QueueFIFO })
		if said := strings.Join(trial.Verdicts[i].Reasons, "; "); !strings.Contains(said, "by the servers' commits") {
			t.Errorf("%s: the order was judged otherwise: %q", name, said)
		}
	}
}

// unplayed runs a scenario of one trial and returns why it could not be played.
func unplayed(t *testing.T, text string) (why []string, samples int) {
	t.Helper()
	s, err := spec.Load(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := runner{log: noLog, ensemble: ensemble, id: fmt.Sprintf("test-%d", runs.Add(1)), seed: 1, dir: dir}
	batches, err := s.Batches()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.run(t.Context(), s, batches[0], 0, 1); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "history", "*"))
	h, err := history.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for n, err := range h.Records {
		if err != nil {
			t.Fatal(err)
		}
		switch r := n.Record.(type) {
		case *history.TrialFailure:
			why = append(why, r.Why)
		case *history.Sample:
			samples++
		}
	}
	return why, samples
}

const aChurn = `
clients: [3]
session_timeout: 4s
phases: [{name: churn, kind: churn, duration: 2s}]
`

func TestDriver_thatBreaksTheProtocolLosesNothingThatWasMeasured(t *testing.T) {
	why, samples := unplayed(t, "name: drivers\nsubjects: ["+asDriver("lock/prints", "prints")+"]"+aChurn)
	if len(why) != 1 || !strings.Contains(why[0], "one JSON object: DEBUG: still here") {
		t.Errorf("the trial was not played because %q", why)
	}
	if samples == 0 {
		t.Error("nothing of what was measured is left")
	}
}

func TestDriver_whoseClientsLeaveTheirListeners(t *testing.T) {
	why, _ := unplayed(t, "name: drivers\nsubjects: ["+asDriver("lock/leaves", "leaves its listeners")+"]"+aChurn)
	if len(why) != 1 || !strings.Contains(why[0], "did not connect through zkbench's listeners") {
		t.Errorf("the trial was not played because %q", why)
	}
}

func TestDriver_thatSaysItIsSomethingElse(t *testing.T) {
	why, _ := unplayed(t, "name: drivers\nsubjects: ["+asDriver("election/mine", "lock/parent")+"]"+aChurn)
	if len(why) != 1 || !strings.Contains(why[0], `the name election/mine requires recipe election, but the hello has recipe "lock"`) {
		t.Errorf("the trial was not played because %q", why)
	}
}

func TestCheckDriver_findsOursSound(t *testing.T) {
	for _, name := range []string{"lock/predecessor", "election/parent", "queue/predecessor", "barrier/parent", "minimal"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keepsTheProtocol(t, host.Command{Args: []string{os.Args[0]}, Env: []string{driverKey + "=" + name}})
		})
	}
}

// What other people's recipes do is theirs: an election that ends a term with the connection, and a try
// of no time at all that cannot know yet, are sound.
func TestCheckDriver_findsOthersSound(t *testing.T) {
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

func keepsTheProtocol(t *testing.T, c host.Command) {
	t.Helper()
	var last check.Step
	err := checkDriverOn(t.Context(), ensemble, c, "", func(s check.Step) {
		if s.Result != check.OK && s.Result != check.NotOffered {
			t.Errorf("%s: %s: %s\n%s", s.Name, s.Result, s.Why, strings.Join(s.Exchange, "\n"))
		}
		last = s
	})
	if err != nil || last.Name != "end of stdin" {
		t.Errorf("the last step was %q: %v", last.Name, err)
	}
}

func TestCheckDriver_showsTheExchangeOfWhatIsWrong(t *testing.T) {
	var wrong []check.Step
	c := host.Command{Args: []string{os.Args[0]}, Env: []string{driverKey + "=prints"}}
	if err := checkDriverOn(t.Context(), ensemble, c, "", func(s check.Step) {
		if s.Result != check.OK && s.Result != check.NotOffered {
			wrong = append(wrong, s)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if len(wrong) != 1 || !strings.Contains(wrong[0].Why, "DEBUG: still here") || len(wrong[0].Exchange) == 0 {
		t.Errorf("found %+v", wrong)
	}
}

// A client library calls a new session connected, as it does the same session: a driver that
// passes that on says restored of what is lost.
func TestCheckDriver_findsWhatIsRestoredAndGone(t *testing.T) {
	for name, want := range map[string]string{
		"restores what is lost":          "has ended, but the client reported lost and then restored; restored must not follow lost, and a new session must not be reported",
		"takes any session for the same": "has ended, but the client reported restored, not lost; restored is for the same session only, and a new session must not be reported",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found check.Step
			c := host.Command{Args: []string{os.Args[0]}, Env: []string{driverKey + "=" + name}}
			if err := checkDriverOn(t.Context(), ensemble, c, "", func(s check.Step) {
				if s.Name == "lost session" {
					found = s
				}
			}); err != nil {
				t.Fatal(err)
			}
			if found.Result != check.Wrong || !strings.Contains(found.Why, want) || !strings.Contains(strings.Join(found.Exchange, "\n"), `"restored"`) {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// What is answered, and what should have been, are in one sentence.
func TestCheckDriver_saysWhatWasAnswered(t *testing.T) {
	why := map[string]string{}
	c := host.Command{Args: []string{os.Args[0]}, Env: []string{driverKey + "=answers ok"}}
	if err := checkDriverOn(t.Context(), ensemble, c, "", func(s check.Step) { why[s.Name] = s.Why }); err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{
		"not open":     "the client is not open, but acquire of client 1000000 was answered ok instead of with an error of kind failed",
		"nothing held": "the client holds nothing, but release of client 1 was answered ok instead of with an error of kind failed",
		"unknown op":   "the op frobnicate does not exist, but it was answered ok instead of with an error of kind unsupported",
	} {
		if why[step] != want {
			t.Errorf("%s: got %q, want %q", step, why[step], want)
		}
	}
}

func TestLoad_driversOfASubject(t *testing.T) {
	s, err := spec.Load("mine", []byte("name: x\nsubjects: [lock/parent, "+asDriver("lock/mine", "lock/parent")+"]"+aChurn),
		"exec=lock/other='"+os.Args[0]+"' --flag", "subjects=[lock/other, lock/mine]")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Drivers) != 2 || s.Drivers[1].Exec != "'"+os.Args[0]+"' --flag" || s.Drivers[0].Env[driverKey] != "lock/parent" {
		t.Errorf("drivers %+v", s.Drivers)
	}
	text, err := s.Dump()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := spec.Load("again", text); err != nil || len(again.Drivers) != 2 {
		t.Errorf("the scenario that is kept cannot be read: %v", err)
	}
}

func TestLoad_driversOfEveryKind(t *testing.T) {
	for _, kind := range recipes.Recipes {
		name := string(kind) + "/mine"
		s, err := spec.Load("mine", []byte("name: x\nsubjects: ["+asDriver(name, string(kind)+"/parent")+"]"+aChurn))
		if err != nil || s.Subjects[0] != name {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := spec.Load("mine", []byte("name: x\nsubjects: [lock/parent]"+aChurn), "exec="+name+"='"+os.Args[0]+"'", "subjects=["+name+"]"); err != nil {
			t.Errorf("--exec %s: %v", kind, err)
		}
	}
}

// noDriversLeft fails the test if a process of a driver is left, stopped or not.
func noDriversLeft(t *testing.T) {
	t.Helper()
	for p, owner := range state.FindByVariable(host.Mark) {
		if owner != state.Self().String() {
			continue // somebody else's
		}
		t.Errorf("process %d is left; stopped: %v", p.PID, p.Stopped())
	}
}

func TestFaults_thatOnlyAProcessCanHave(t *testing.T) {
	histories := playOn(t, ensemble, nil, `
name: processes
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [3]
session_timeout: 1s
phases:
  - name: churn
    kind: churn
    duration: 8s
    hold: 20ms
    faults:
      - {at: 200ms, fault: client.pause, target: holder, for: 200ms}
      - {at: 1s, fault: client.kill, target: "1", for: 500ms}
      - {at: 2500ms, fault: client.restart, target: holder}
`)
	noDriversLeft(t)
	records := recordsOf(t, histories[0])
	for _, u := range of[*history.TrialFailure](records) {
		t.Errorf("it could not be run: %s", u.Why)
	}
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
	h, err := history.Open(histories[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.EvaluateHistory(h).Trial.Verdicts {
		if v.Result == report.Fail {
			t.Errorf("%s: %q", v.Guarantee, v.Reasons)
		}
	}
}

func TestFaults_aRunThatIsInterruptedLeavesNothingStopped(t *testing.T) {
	s, err := spec.Load("x", []byte(`
name: interrupted
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [2]
session_timeout: 1s
phases: [{name: churn, kind: churn, duration: 1m, hold: 5ms, faults: [{at: 0s, fault: client.pause, target: "0", for: 50s}, {at: 0s, fault: client.kill, target: "1", for: 50s}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r := runner{log: noLog, ensemble: ensemble, id: fmt.Sprintf("test-%d", runs.Add(1)), seed: 1, dir: t.TempDir(), progress: func(stage.Status) {
		for p, owner := range state.FindByVariable(host.Mark) {
			if owner == state.Self().String() && p.Stopped() {
				interrupt()
			}
		}
	}}
	batches, err := s.Batches()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.run(ctx, s, batches[0], 0, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	noDriversLeft(t)
}

func TestFaults_hitAllClientsOfAProcess(t *testing.T) {
	histories := playOn(t, ensemble, nil, `
name: processes
subjects: [`+strings.Replace(asDriver("lock/ours", "lock/predecessor"), "{name", "{processes: 1, name", 1)+`]
clients: [3]
session_timeout: 1s
phases: [{name: churn, kind: churn, duration: 6s, hold: 50ms, faults: [{at: 200ms, fault: client.restart, target: "1"}]}]
`)
	w := only[*history.Window](t, recordsOf(t, histories[0]))
	if w.Err != "" || fmt.Sprint(w.Served) != "[0 2]" || !strings.Contains(w.Target, "in the same process clients 0, 2") {
		t.Errorf("%+v", w)
	}
}

// A driver is upgraded while its lock is in use: the clients' processes are replaced by those of another, one
// after the other.
func TestFaults_restartClientsAsAnotherSubject(t *testing.T) {
	var faults []string
	for i := range 3 {
		faults = append(faults, fmt.Sprintf("{at: %dms, fault: client.restart, target: \"%d\", params: {as: lock/new}, essential: true}", 300+2500*i, i))
	}
	trials := runTrials(t, `
name: upgraded
subjects: [`+asDriver("lock/old", "lock/predecessor")+`]
drivers: [`+asDriver("lock/new", "lock/predecessor")+`]
clients: [3]
session_timeout: 1s
phases:
  - {name: churn, kind: churn, duration: 9s, hold: 20ms, faults: [`+strings.Join(faults, ", ")+`]}
  - {name: after, kind: churn, duration: 1s, hold: 20ms}
`)
	noDriversLeft(t)
	trial := trials["upgraded-lock-old-3"]
	nothingAmiss(t, "upgraded", trial)
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
	for _, f := range playOn(t, ensemble, nil, `
name: other
subjects: [`+asDriver("lock/old", "lock/predecessor")+`]
drivers: [`+asDriver("lock/new", "prints")+`]
clients: [3]
session_timeout: 1s
phases: [{name: churn, kind: churn, duration: 8s, hold: 20ms, faults: [{at: 300ms, fault: client.restart, target: "2", params: {as: lock/new}}]}]
`) {
		if why := only[*history.TrialFailure](t, recordsOf(t, f)).Why; !strings.Contains(why, "DEBUG: still here") {
			t.Errorf("got %s", why)
		}
	}
}

// A holder that is stopped past its session and goes on has lost it to another, and is
// stopped by the token: that cannot depend on luck. When it is told does.
func TestPausedHolder_goesOn(t *testing.T) {
	trials := runTrials(t, `
name: paused
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`, `+asDriver("lock/silent", "minimal")+`]
clients: [2]
session_timeout: 1s
phases: [{name: pause, kind: failover, cause: pause, rounds: 1, hold: 10ms}]
`)
	noDriversLeft(t)
	for name, trial := range trials {
		for _, v := range trial.Verdicts {
			if v.Result == report.Fail {
				t.Errorf("%s: %s: %q", name, v.Guarantee, v.Reasons)
			}
		}
		stopped := value(t, trial, "pause.writes_fenced")
		if *stopped.Count < 1 || *stopped.Value != float64(*stopped.Count) {
			t.Errorf("%s: of %d late writes the token stopped %v", name, *stopped.Count, *stopped.Value)
		}
		through, offered := trial.Metrics["pause.writes_accepted"]
		if silent := strings.Contains(name, "silent"); offered == silent {
			t.Errorf("%s: unfenced writes: %+v", name, through)
		}
		if belief := trial.Metrics["pause.false_belief"]; belief.Count == nil || *belief.Count != 1 || *belief.Min <= 0 {
			t.Errorf("%s: false belief %+v", name, belief)
		}
	}
	if told := trials["paused-lock-ours-2"].Metrics["pause.notice"]; told.Count == nil {
		t.Error("ours was never told")
	}
	if told, ok := trials["paused-lock-silent-2"].Metrics["pause.notice"]; ok {
		t.Errorf("a driver without events was told: %+v", told)
	}
}

func TestAudit_pausesADriversProcessAtAStep(t *testing.T) {
	histories := playOn(t, ensemble, nil, `
name: audit
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [3]
session_timeout: 1s
phases: [{name: episode, kind: episode, hold: 10ms, cells: ["next getChildren2 #1/client.pause", "holder hold #1/client.pause"]}]
`)
	noDriversLeft(t)
	for _, f := range histories {
		w := only[*history.Window](t, recordsOf(t, f))
		if w.Err != "" || !strings.Contains(w.Proof, "state T") || !strings.Contains(w.Proof, "no longer listed session") {
			t.Errorf("%+v", w)
		}
	}
}

func TestFaults_hitTheNextInLine(t *testing.T) {
	histories := playOn(t, ensemble, nil, `
name: next
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [4]
session_timeout: 2s
phases: [{name: churn, kind: churn, duration: 4s, hold: 8s, faults: [{at: 300ms, fault: session.close, target: next}]}]
`) // whoever holds at 300 ms holds when the fault strikes, too
	records := recordsOf(t, histories[0])
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

func TestApart_runsWhatIsCompiledInAsDrivers(t *testing.T) {
	t.Setenv(driverKey, "lock/parent") // the test binary is the driver
	s, err := spec.Load("apart", []byte(`
name: apart
subjects: [lock/parent]
apart: true
clients: [2]
session_timeout: 1s
phases: [{name: drain, kind: drain, rounds: 1, hold: 1ms}]
`))
	if err != nil {
		t.Fatal(err)
	}
	r := runner{log: noLog, ensemble: ensemble, id: fmt.Sprintf("test-%d", runs.Add(1)), seed: 1, dir: t.TempDir(), driver: []string{os.Args[0]}}
	batches, err := s.Batches()
	if err == nil {
		err = r.run(t.Context(), s, batches[0], 0, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Open(report.HistoryPath(r.dir, "apart-lock-parent-2"))
	if err != nil {
		t.Fatal(err)
	}
	trial := report.EvaluateHistory(h).Trial
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

func scenarioWith(t *testing.T, fault string) *spec.Scenario {
	t.Helper()
	s, err := spec.Load("test", []byte(`{name: test, subjects: [lock/predecessor], clients: [2], session_timeout: 4s,
		phases: [{name: churn, kind: churn, duration: 3s, faults: [{at: 1s, fault: `+fault+`}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
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
			err := Config{Scenario: scenarioWith(t, test.fault), Ensemble: theirs(test.commands)}.Validate()
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestConfig_Commands_areThoseThatMayBeExecuted(t *testing.T) {
	c := Config{Scenario: scenarioWith(t, "member.kill"), Ensemble: theirs(ensembles.Commands{
		Stop: []string{"ssh", "zk1", "stop it"}, Start: []string{"ssh", "zk1", "start"}, Pause: []string{"true"}, Resume: []string{"true"}, Log: []string{"tar"},
	})}
	want := []string{
		"phase churn, member.kill: zk1 kill: ssh zk1 'stop it'",
		"phase churn, member.kill: zk1 start: ssh zk1 start",
		"after each trial: zk1 log: tar",
	}
	if got := c.Commands(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
