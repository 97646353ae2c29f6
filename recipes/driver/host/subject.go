package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// Subject returns the subject of a driver. Its Start starts the driver, whose hello then describes it.
func Subject(c Command) recipes.Subject {
	recipe, _ := RecipeOf(c.Name)
	return recipes.Subject{
		Name: c.Name, Recipe: recipe, About: "a driver: " + strings.Join(c.Args, " "),
		Start: func(_ context.Context, t recipes.Trial) (recipes.Subject, func(), error) {
			d := &driver{command: c, trial: t, slots: map[string]*processSlot{}}
			d.pool, _ = t.Pool.(*Pool)
			s, err := d.start()
			return s, d.stop, err
		},
	}
}

type driver struct {
	command Command
	trial   recipes.Trial
	pool    *Pool

	each int // clients per process; 0 means all

	mu      sync.Mutex
	slots   map[string]*processSlot // by process name
	killed  []*processSlot          // killed processes that others have replaced
	stopped bool
}

type processSlot struct {
	once  sync.Once
	p     *Process
	err   error
	ready atomic.Bool // whether hello was answered
}

func (d *driver) place(client int) (on site.Site, name string, err error) {
	on, name = site.Here{}, "0"
	if d.trial.Site != nil {
		if on, err = d.trial.Site(client); err != nil {
			return nil, "", err
		}
	}
	switch {
	case d.trial.NeedsOwnProcess != nil && d.trial.NeedsOwnProcess(client) && d.command.Processes == 0:
		name = fmt.Sprintf("client-%d", client)
	case d.each > 0:
		name = strconv.Itoa(client / d.each)
	}
	if on.Name() != "" {
		name = on.Name() + "-" + name
	}
	return on, name, nil
}

func (d *driver) start() (recipes.Subject, error) {
	p, err := d.processFor(0)
	if err != nil {
		return Subject(d.command), err
	}
	s, err := SubjectOf(d.command, p)
	d.each = p.Hello.MaxClients
	if n := d.command.Processes; n > 0 && d.trial.Clients > 0 {
		if each := (d.trial.Clients + n - 1) / n; d.each == 0 || each < d.each {
			d.each = each
		}
	}
	s.Start, s.Open, s.PipeLatency = nil, d.open, d.pipe
	return s, err
}

// SubjectOf returns the subject that a process describes in its hello. It fails if the hello is invalid.
func SubjectOf(c Command, p *Process) (recipes.Subject, error) {
	s, h := Subject(c), p.Hello
	if s.Recipe != "" && h.Recipe != string(s.Recipe) {
		return s, p.breach(p.greeting, "the name %s requires recipe %s, but the hello has recipe %q", s.Name, s.Recipe, h.Recipe)
	}
	if h.About != "" {
		s.About = h.About
	}
	s.Variant = recipes.Variant(h.Variant)
	s.Promises = recipes.Promises{
		Exclusive: h.Promises.Exclusive, FIFO: h.Promises.FIFO, Delivery: recipes.Delivery(h.Promises.Delivery),
		Requeues: h.Requeues, Rejoins: h.Rejoins, Events: h.Events, Writers: h.Promises.Writers,
	}
	s.SupportsLimit = slices.Contains(h.Ops, "limit")
	return s, checkHello(p, h)
}

func checkHello(p *Process, h lines.Hello) error {
	checkValue := func(what, has string, may ...string) error {
		if has == "" || slices.Contains(may, has) {
			return nil
		}
		return p.breach(p.greeting, "%s is %q, but must be one of %s", what, has, strings.Join(may, ", "))
	}
	var known []string
	for _, r := range recipes.Recipes {
		known = append(known, string(r))
	}
	if err := checkValue("recipe", h.Recipe, known...); err != nil || h.Recipe == "" {
		return cmp.Or(err, p.breach(p.greeting, "recipe must be one of "+strings.Join(known, ", ")))
	}
	begin, end := lines.Ops(h.Recipe)
	if !slices.Contains(h.Ops, begin) || !slices.Contains(h.Ops, end) {
		return p.breach(p.greeting, "the ops of a %s must include %s and %s", h.Recipe, begin, end)
	}
	if h.Rejoins && !h.Events {
		return p.breach(p.greeting, "rejoins requires events: zkbench detects a lost session by the event lost")
	}
	if err := checkValue("variant", h.Variant, string(recipes.Parent), string(recipes.Predecessor), string(recipes.Polling)); err != nil {
		return err
	}
	return checkValue("delivery", h.Promises.Delivery, string(recipes.ExactlyOnce), string(recipes.AtLeastOnce), string(recipes.AtMostOnce))
}

func (d *driver) open(ctx context.Context, env recipes.Env) (recipes.Client, error) {
	p, err := d.processFor(env.Client)
	if err != nil {
		return nil, err
	}
	return p.Open(ctx, env)
}

// processFor returns the process for a client. It starts the process at the first call, and again if the
// last process was killed and may be replaced.
func (d *driver) processFor(client int) (*Process, error) {
	on, name, err := d.place(client)
	if err != nil {
		return nil, err
	}
	s, err := d.slot(name)
	if err != nil {
		return nil, err
	}
	s.once.Do(func() {
		stderr := d.trial.Stderr
		if stderr != "" {
			stderr = fmt.Sprintf("%s-%s.stderr", stderr, name)
		}
		if s.p = d.pool.take(d.command, on); s.p != nil {
			s.p.attach(stderr, d.trial.Fail)
			s.ready.Store(true)
			return
		}
		starting <- struct{}{}
		defer func() { <-starting }()
		if s.p, s.err = Launch(d.command, on, stderr, d.trial.Owner, d.trial.Fail); s.err == nil {
			s.err = s.p.Greet()
		}
		s.ready.Store(s.err == nil)
	})
	if s.err != nil {
		return nil, s.err
	}
	return s.p, s.p.Err()
}

// starting limits the number of processes that start at the same time: each uses a processor for a second.
var starting = make(chan struct{}, max(2, runtime.NumCPU()))

func (d *driver) slot(name string) (*processSlot, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return nil, fmt.Errorf("%s: the trial has ended", d.command.Name)
	}
	s := d.slots[name]
	if s != nil && s.ready.Load() {
		if killed, replaced := s.p.killState(); killed && replaced {
			d.killed, s = append(d.killed, s), nil
		}
	}
	if s == nil {
		s = &processSlot{}
		d.slots[name] = s
	}
	return s, nil
}

func (d *driver) pipe() (p50, p99 time.Duration, of int) {
	var took []time.Duration
	for _, s := range d.all() {
		if s.ready.Load() {
			took = append(took, s.p.Clock.Trips()...)
		}
	}
	p50, p99 = clock.Percentiles(took)
	return p50, p99, len(took)
}

func (d *driver) all() []*processSlot {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append(slices.Collect(maps.Values(d.slots)), d.killed...)
}

func (d *driver) stop() {
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range d.all() {
		s.once.Do(func() {}) // waits for a start in progress
		if s.p != nil && !d.pool.keep(s.p) {
			all.Go(func() { _ = s.p.Stop() })
		}
	}
	all.Wait()
}
