package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
)

// scripted is a fault that does what a test says and writes down what happened.
type scripted struct {
	name    string
	log     *logbook
	inject  func(ctx context.Context, t Target) error
	heal    func(ctx context.Context) error
	back    func(ctx context.Context) error
	instant bool // nothing to heal
}

type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logbook) add(format string, args ...any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, ", ")
}

func (f scripted) String() string { return f.name }

func (f scripted) Inject(ctx context.Context, t Target) (Effect, error) {
	f.log.add("+%s", f.name)
	if f.inject != nil {
		if err := f.inject(ctx, t); err != nil {
			return Effect{Target: "the target of " + f.name, Client: 3}, err
		}
	}
	e := Effect{Target: "the target of " + f.name, Client: 3, Proof: "it was written down"}
	if !f.instant {
		e.AwaitRecovery = f.back
		e.Undo = func(ctx context.Context) error {
			f.log.add("-%s", f.name)
			if f.heal != nil {
				return f.heal(ctx)
			}
			return ctx.Err()
		}
	}
	return e, nil
}

// inABubble runs a test where time passes only when everybody waits for it: a busy
// machine does not change the order of what is due at different times.
func inABubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func clock() func() time.Duration {
	begin := time.Now()
	return func() time.Duration { return time.Since(begin) }
}

func TestPlan_playsInOrderAndHeals(t *testing.T) {
	broken := errors.New("broken")
	fails := func(context.Context, Target) error { return broken }
	panics := func(context.Context, Target) error { panic("at the disco") }
	stays := func(context.Context) error { return broken }
	const ms = time.Millisecond
	a, b, c := scripted{name: "a"}, scripted{name: "b"}, scripted{name: "c"}
	for _, row := range []struct {
		name    string
		entries []Entry
		until   time.Duration // 0: the play ends by itself
		want    string
		errs    []string
	}{
		{"faults are played in the order of their times and healed after theirs",
			[]Entry{{Fault: b, At: 60 * ms, For: 100 * ms}, {Fault: a, For: 110 * ms}}, 0, "+a, +b, -a, -b", nil},
		{"what is in force at the end is healed in reverse order",
			[]Entry{{Fault: a}, {Fault: b, At: 20 * ms, For: time.Hour}, {Fault: c, At: 40 * ms}},
			80 * ms, "+a, +b, +c, -c, -b, -a", nil},
		{"a fault without a way back ends at once",
			[]Entry{{Fault: scripted{name: "a", instant: true}}}, 0, "+a", nil},
		{"an entry is repeated as often as it says",
			[]Entry{{Fault: a, For: ms, Every: 5 * ms, Times: 3}}, 0, "+a, -a, +a, -a, +a, -a", nil},
		{"a fault that fails does not stop the others",
			[]Entry{{Fault: scripted{name: "a", inject: fails}}, {Fault: b, At: 20 * ms, For: ms}},
			0, "+a, +b, -b", []string{"broken"}},
		{"a fault that panics does not stop the others, nor their healing",
			[]Entry{{Fault: a}, {Fault: scripted{name: "b", inject: panics}, At: 20 * ms}},
			60 * ms, "+a, +b, -a", []string{"panic: at the disco"}},
		{"a fault that does not heal does not keep the others from it",
			[]Entry{{Fault: a}, {Fault: scripted{name: "b", heal: stays}, At: 20 * ms}},
			60 * ms, "+a, +b, -b, -a", []string{"not healed: b of the target of b: broken"}},
		{"an entry whose time never comes is an error",
			[]Entry{{Fault: a, At: time.Hour}, {Fault: b, On: "never"}}, 20 * ms, "",
			[]string{"a: no proven effect: the phase ended before the fault was due", "b: no proven effect"}},
	} {
		inABubble(t, row.name, func(t *testing.T) {
			ctx, log := t.Context(), &logbook{}
			if row.until > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, row.until)
				defer cancel()
			}
			for i := range row.entries {
				f := row.entries[i].Fault.(scripted)
				f.log = log
				row.entries[i].Fault = f
			}
			err := Plan{Entries: row.entries, Now: clock()}.Play(ctx, Target{})
			if log.String() != row.want {
				t.Errorf("got  %s\nwant %s", log, row.want)
			}
			if (err == nil) != (row.errs == nil) {
				t.Errorf("error %v", err)
			}
			for _, part := range row.errs {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in: %v", part, err)
				}
			}
		})
	}
}

func TestPlan_waitsForEvents(t *testing.T) {
	log, events := &logbook{}, &Events{}
	now := clock()
	const after = 30 * time.Millisecond
	var played Window
	plan := Plan{
		Entries: []Entry{
			{Fault: scripted{name: "second", log: log, instant: true}, On: "steady", At: after},
			{Fault: scripted{name: "first", log: log, instant: true, inject: func(context.Context, Target) error {
				events.Fire("steady")
				events.Fire("steady")
				return nil
			}}},
		},
		Now: now, Events: events, Healed: func(p Window) { played = p },
	}
	must(t, plan.Play(t.Context(), Target{}))
	if log.String() != "+first, +second" || played.Start < after {
		t.Errorf("%s, the second at %v", log, played.Start)
	}
}

// Two faults on one member: the first is being healed when the play ends, and waits for
// the member, which the second keeps away.
func TestPlan_undoesAllBeforeItWaits(t *testing.T) {
	const ms = time.Millisecond
	for _, row := range []struct {
		name         string
		waits, keeps Entry
	}{
		{"the one that waits is healed before the end", Entry{For: 20 * ms}, Entry{}},
		{"both are in force at the end, the one that keeps it away came first", Entry{At: 20 * ms}, Entry{}},
	} {
		inABubble(t, row.name, func(t *testing.T) {
			log, undone := &logbook{}, make(chan struct{})
			row.waits.Fault = scripted{name: "waits", log: log, back: func(ctx context.Context) error {
				select {
				case <-undone:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}}
			undo := func(context.Context) error { close(undone); return nil }
			row.keeps.Fault = scripted{name: "keeps", log: log, heal: undo}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
			defer cancel()
			plan := Plan{Entries: []Entry{row.keeps, row.waits}, Now: clock(), HealLimit: 5 * time.Second}
			must(t, plan.Play(ctx, Target{}))
			if !strings.HasSuffix(log.String(), "-waits, -keeps") {
				t.Errorf("undone in another order: %s", log)
			}
		})
	}
}

func TestPlan_recordsWindows(t *testing.T) { synctest.Test(t, testRecordedWindows) }

func testRecordedWindows(t *testing.T) {
	var injected, played []Window
	fails := func(context.Context, Target) error { return ErrNoEffect }
	plan := Plan{
		Entries: []Entry{
			{Fault: scripted{name: "good"}, For: 20 * time.Millisecond},
			{Fault: scripted{name: "bad", inject: fails}, At: 60 * time.Millisecond},
		},
		Now:      clock(),
		Injected: func(p Window) { injected = append(injected, p) },
		Healed:   func(p Window) { played = append(played, p) },
	}
	if err := plan.Play(t.Context(), Target{}); !errors.Is(err, ErrNoEffect) {
		t.Errorf("got %v", err)
	}
	if len(injected) != 1 || injected[0].Fault != "good" || len(played) != 2 {
		t.Fatalf("injected %+v, played %+v", injected, played)
	}
	g := played[0]
	if g.Target != "the target of good" || g.Client != 3 || g.Proof == "" || g.Err != nil || g.End-g.ProvenAt < 20*time.Millisecond || g.Start > g.ProvenAt {
		t.Errorf("good: %+v", g)
	}
	if b := played[1]; b.Err == nil || b.Proof != "" || b.Client != 3 || b.End != b.ProvenAt {
		t.Errorf("bad: %+v", b)
	}
}

// A repetition that was being injected when the play ended is no failure. It may have
// struck, unless it is certain that it has not.
func TestPlan_recordsARepetitionThatItsEndOvertook(t *testing.T) {
	for about, row := range map[string]struct {
		err      func(error) error
		recorded int
	}{
		"it may have struck":     {func(err error) error { return err }, 2},
		"it has touched nothing": {func(err error) error { return fmt.Errorf("a: %w", untouchedError{err}) }, 1},
	} {
		t.Run(about, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			f := scripted{name: "a", instant: true, inject: func(ctx context.Context, _ Target) error {
				if n++; n == 2 {
					cancel()
					return row.err(ctx.Err())
				}
				return nil
			}}
			var played []Window
			plan := Plan{Entries: []Entry{{Fault: f, Every: time.Millisecond}}, Now: clock(), Healed: func(w Window) { played = append(played, w) }}
			must(t, plan.Play(ctx, Target{}))
			if len(played) != row.recorded {
				t.Fatalf("recorded %+v", played)
			}
			if last := played[len(played)-1]; row.recorded == 2 && (!last.CutShort || last.Err != nil || last.Proof != "" || last.Client != 3) {
				t.Errorf("recorded %+v", last)
			}
		})
	}
}

// The first injection that the end of the phase interrupts says so, instead of a canceled context only.
func TestPlan_saysThatThePhaseWasTooShort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := scripted{name: "a", inject: func(ctx context.Context, _ Target) error {
		cancel()
		return fmt.Errorf("%w: the session is still listed", ErrNoEffect)
	}}
	err := Plan{Entries: []Entry{{Fault: f}}, Now: clock()}.Play(ctx, Target{})
	if !errors.Is(err, ErrNoEffect) || !strings.Contains(err.Error(), "too early to prove its effect (use longer phases)") {
		t.Errorf("got %v", err)
	}
}

// What was gone before it was healed has no proof, and is not in force any more either.
func TestPlan_takesTheProofFromAFaultThatVanished(t *testing.T) {
	back := false
	f := scripted{
		name: "a",
		heal: func(context.Context) error { return network.ErrVanished },
		back: func(context.Context) error { back = true; return nil },
	}
	var played []Window
	plan := Plan{Entries: []Entry{{Fault: f, For: time.Millisecond}}, Now: clock(), Healed: func(w Window) { played = append(played, w) }}
	err := plan.Play(t.Context(), Target{})
	if !errors.Is(err, ErrNoEffect) || errors.Is(err, ErrNotHealed) {
		t.Errorf("got %v", err)
	}
	if len(played) != 1 || played[0].Proof != "" || !errors.Is(played[0].Err, network.ErrVanished) || !back {
		t.Errorf("recorded %+v; waited for what it had affected: %v", played, back)
	}
}

func TestPlan_drawsTheSameFromTheSameSeed(t *testing.T) {
	draw := func(seed uint64) (out [6]int) {
		var entries []Entry
		for i := range out {
			pick := func(_ context.Context, t Target) error { out[i] = t.Random(1 << 30); return nil }
			entries = append(entries, Entry{Fault: scripted{name: "a", instant: true, inject: pick}})
		}
		must(t, Plan{Entries: entries, Seed: seed, Now: clock()}.Play(t.Context(), Target{}))
		return out
	}
	a, b, c := draw(1), draw(1), draw(2)
	if a != b || a == c || a[0] == a[1] {
		t.Errorf("%v, %v, %v", a, b, c)
	}
}

func TestPlan_boundsHealing(t *testing.T) {
	stuck := scripted{name: "a", heal: func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	plan := Plan{Entries: []Entry{{Fault: stuck, For: time.Millisecond}}, Now: clock(), HealLimit: 20 * time.Millisecond}
	err := plan.Play(t.Context(), Target{})
	if !errors.Is(err, ErrNotHealed) || !strings.Contains(err.Error(), "not healed within 20ms") {
		t.Errorf("got %v", err)
	}
}
