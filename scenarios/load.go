package scenarios

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/safefile"
	"github.com/zkbench/zkbench/report/units"
	"go.yaml.in/yaml/v4"
	"golang.org/x/sync/errgroup"
)

//go:embed builtin/*.yaml incidents/*.yaml
var builtin embed.FS

// Builtin returns the names of the built-in scenarios, in order.
func Builtin() []string {
	files, _ := fs.Glob(builtin, "builtin/*.yaml")
	return namesOf(files, func(f string) string { return strings.TrimSuffix(strings.TrimPrefix(f, "builtin/"), ".yaml") })
}

func Source(nameOrFile string) (name string, text []byte, err error) {
	file := "builtin/" + nameOrFile
	if what, ok := strings.CutPrefix(nameOrFile, incident); ok {
		file = incidentDir + what
	}
	if text, err := builtin.ReadFile(file + ".yaml"); err == nil {
		return nameOrFile, text, nil
	}
	if !strings.HasSuffix(nameOrFile, ".yaml") && !strings.HasSuffix(nameOrFile, ".yml") {
		return "", nil, unknownScenario(nameOrFile)
	}
	text, err = safefile.Read(nameOrFile, safefile.Config)
	return nameOrFile, text, err
}

// unknownScenario returns the error for a name that is neither a built-in scenario nor a YAML file.
func unknownScenario(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: to repeat a run, use zkbench rerun %s", name, name)
	} else if err == nil {
		return fmt.Errorf("%s: the name of a scenario file ends in .yaml", name)
	}
	if best := units.Closest(name, append(Builtin(), Incidents()...)); best != "" {
		return fmt.Errorf("unknown scenario %q; did you mean %q?", name, best)
	}
	return fmt.Errorf("unknown scenario %q (zkbench list scenarios and zkbench list incidents list them; a scenario of your own is a file that ends in .yaml)", name)
}

const noDocument = "no documents in stream"

// Load reads a scenario, applies overrides in order, and validates the result. An override is
// PATH=VALUE: "phases.0.rounds=1", "params.promise=9s", and "hold=5ms" or "duration=8s" for all
// phases. name is used in error messages. The error lists all problems, one line each, with their
// positions in the text.
func Load(name string, text []byte, overrides ...string) (*Scenario, error) {
	var root yaml.Node
	err := yaml.Load(text, &root)
	empty := err != nil && strings.Contains(err.Error(), noDocument)
	if err != nil && !empty {
		return nil, notYAML(text, err).in(name)
	}
	if empty || resolve(&root) == nil {
		return nil, problems{{File: name, Text: "is empty; zkbench list scenarios herd prints one to begin with"}}
	}
	liftDrivers(&root)
	var ps problems
	declared := paramNames(&root)
	forAll := map[string]string{}
	for _, o := range overrides {
		if err := override(&root, o, forAll); err != nil {
			ps = append(ps, &problem{Text: err.Error()})
		}
	}
	s, found := decode(&root)
	if isBuiltin(name, text) {
		s.markBuiltin(overrides)
	}
	ps = append(ps, s.unplayed(overrides)...)
	ps = append(ps, s.unknownParams(declared, overrides)...)
	if err := s.setAll(forAll); err != nil {
		ps = append(ps, &problem{Text: err.Error()})
	}
	found = append(found, s.problems().beyond(found)...)
	found.locate(&root)
	found.sort()
	if ps = append(ps, found.in(name)...); len(ps) > 0 {
		return nil, ps
	}
	return s, nil
}

// decode converts the valid part of a tree to a scenario.
func decode(root *yaml.Node) (*Scenario, problems) {
	c := &checker{}
	c.check(root, reflect.TypeFor[Scenario](), "")
	var s Scenario
	if err := root.Load(&s, yaml.WithKnownFields()); err != nil && len(c.problems) == 0 {
		return &s, notYAML(nil, err) // not reached if the checker is complete
	}
	return &s, c.problems
}

// notYAML returns the YAML library's errors with their positions in the text, and names a tab or an
// unexpected character, which the library does not.
func notYAML(text []byte, err error) problems {
	lines := strings.Split(string(text), "\n")
	problemAt := func(line, column int, message string) *problem {
		p := &problem{Line: line, Column: column, Text: message}
		if line < 1 || line > len(lines) {
			return p
		}
		before, rest := "", lines[line-1]
		if column >= 1 && column <= len(rest) {
			before, rest = rest[:column-1], rest[column-1:]
		}
		switch {
		case strings.HasPrefix(rest, "\t") && strings.TrimSpace(before) == "":
			p.Text = "YAML does not allow tabs for indentation: use spaces"
		case strings.Contains(message, "did not find expected") && strings.TrimSpace(rest) != "":
			p.Text = fmt.Sprintf("unexpected %q", strings.TrimSpace(rest)[:1])
		}
		return p
	}
	var all *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &all):
		var ps problems
		for _, e := range all.Errors {
			ps = append(ps, problemAt(e.Mark.Line, e.Mark.Column, e.Message))
		}
		return ps
	case errors.As(err, &one):
		return problems{problemAt(one.Mark.Line, one.Mark.Column, one.Message)}
	}
	return problems{{Text: err.Error()}}
}

func (s *Scenario) dump() ([]byte, error) { return yaml.Dump(s) }

func namesOf[T any](all []T, name func(T) string) []string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = name(one)
	}
	return names
}

func subjectNames() []string {
	return namesOf(recipes.Subjects(), func(s recipes.Subject) string { return s.Name })
}

// warmers is the number of sessions of a warm-up.
const warmers = 12

// warm loads the members with the operations of contenders before the first trial: a JVM that has
// just started is several times slower. Nothing is recorded.
func (r *runner) warm(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if r.progress != nil {
		r.progress(Status{Phase: "warm-up"})
	}
	until := time.Now().Add(d)
	g, ctx := errgroup.WithContext(ctx)
	for i := range warmers {
		g.Go(func() error { return r.warmOne(ctx, i, fmt.Sprintf("%s/warm-%d", r.root(), i/2), until) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	return nil
}

// warmOne acquires and releases in one session, alone and behind another node, in both variants,
// until the time has come.
func (r *runner) warmOne(ctx context.Context, i int, parent string, until time.Time) error {
	s, err := recipes.Open(ctx, rotated(r.ensemble.Servers(), i), harnessOptions(r.ensemble, 0))
	if err != nil {
		return err
	}
	defer s.Close()
	locks := []*recipes.Lock{recipes.NewLock(s, parent, recipes.Parent), recipes.NewLock(s, parent, recipes.Predecessor)}
	for n := 0; time.Now().Before(until); n++ {
		g, err := locks[n%len(locks)].Acquire(ctx)
		if err != nil {
			return err
		}
		if err := g.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

const (
	loadsEvery = 250 * time.Millisecond // interval of queries to each member
	loadLimit  = 2 * time.Second        // limit for a reply
)

// loads queries every member's load periodically, and records the reply or its absence. Members are
// queried independently of each other.
type loads struct {
	st      *stage
	opening atomic.Bool // sessions are being opened
	end     context.CancelFunc
	asking  sync.WaitGroup
}

// watchLoads starts the queries. Our own members first reset their latency counters, so that other
// trials do not count. stop must be called.
func (st *stage) watchLoads(ctx context.Context) *loads {
	ctx, cancel := context.WithCancel(ctx)
	l := &loads{st: st, end: cancel}
	l.opening.Store(true)
	for _, m := range st.members.ensemble.Members {
		own := st.members.ours() && !st.members.shared && reset(ctx, m) == nil
		l.asking.Go(func() { l.watch(ctx, m, own) })
	}
	return l
}

func reset(ctx context.Context, m *ensembles.Member) error {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	_, err := ensembles.FourLetter(ctx, m, "srst")
	return err
}

func (l *loads) stop() {
	l.end()
	l.asking.Wait()
}

func (l *loads) watch(ctx context.Context, m *ensembles.Member, own bool) {
	ticker := time.NewTicker(loadsEvery)
	defer ticker.Stop()
	for {
		if r := l.ask(ctx, m, own); ctx.Err() == nil {
			l.st.record.Record(r)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// ask queries a member once. own means that its latency counters concern this phase only.
func (l *loads) ask(ctx context.Context, m *ensembles.Member, own bool) *history.MemberLoad {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	opening := l.opening.Load()
	mntr, err := ensembles.Monitor(ctx, m)
	r := &history.MemberLoad{At: l.st.clock.Now(), Phase: l.st.phase.Name, Member: m.Name, Opening: opening}
	outstanding, known := mntr["outstanding_requests"]
	switch {
	case err != nil:
		r.Err = err.Error()
	case !known:
		r.Err = fmt.Sprintf("mntr of %s has no outstanding_requests", m.Name)
	default:
		r.Outstanding, r.Connections = new(int64(outstanding)), new(int64(mntr["num_alive_connections"]))
		if own {
			r.LatencyMean, r.LatencyMax = milliseconds(mntr["avg_latency"]), milliseconds(mntr["max_latency"])
		}
	}
	return r
}

func milliseconds(n float64) *time.Duration { return new(time.Duration(n * float64(time.Millisecond))) }

// How operations arrive, as Phase.Arrivals.
const (
	constant = "constant" // at even intervals, the default
	poisson  = "poisson"  // each independent of the others
)

// arrivals are the instants at which operations of a phase are due, in order. Each is given to one
// client that is free.
type arrivals struct {
	history.Arrivals
	random *rand.Rand // nil for even intervals

	mu    sync.Mutex
	count float64 // how many operations are expected until the next one
	until time.Duration
}

// newArrivals returns the arrivals of a phase that begins at start. The seed decides random
// intervals.
func newArrivals(p *Phase, start time.Duration, seed uint64) *arrivals {
	a := &arrivals{until: p.Duration, Arrivals: history.Arrivals{
		At: start, Phase: p.Name, For: p.Duration, Rate: p.Rate, RateTo: p.RateTo, Steps: p.Steps}}
	if p.Arrivals == poisson {
		a.random = rand.New(rand.NewPCG(seed, 0))
		a.count = a.random.ExpFloat64()
	}
	return a
}

func (a *arrivals) next() (due time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	after := a.reach(a.count)
	if after >= a.until {
		return 0, false
	}
	a.count++
	if a.random != nil {
		a.count += a.random.ExpFloat64() - 1
	}
	return a.At + after, true
}

// end makes no more operations due.
func (a *arrivals) end(now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = min(a.until, now-a.At)
}

func (a *arrivals) reach(count float64) time.Duration {
	whole := a.For.Seconds()
	switch {
	case !a.Ramp():
		return inSeconds(count / a.Rate)
	case a.Steps > 1:
		each := whole / float64(a.Steps)
		for i := range a.Steps {
			rate := a.RateAt(time.Duration((float64(i) + 0.5) * each * float64(time.Second)))
			if count < rate*each {
				return inSeconds(float64(i)*each + count/rate)
			}
			count -= rate * each
		}
		return a.For
	}
	steep := (a.RateTo - a.Rate) / whole
	return inSeconds(2 * count / (a.Rate + math.Sqrt(a.Rate*a.Rate+2*count*steep)))
}

// inSeconds converts seconds to a duration, at most the longest phase.
func inSeconds(s float64) time.Duration {
	return time.Duration(min(s, maxDuration.Seconds()) * float64(time.Second))
}
