package scenarios

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// contender is a client whose acquire a test decides; it releases at once.
type contender struct {
	acquire func(ctx context.Context) (recipes.Claim, error)
}

func (c contender) Acquire(ctx context.Context) (recipes.Claim, error) { return c.acquire(ctx) }
func (contender) Release(context.Context) error                        { return nil }
func (contender) Close(context.Context) error                          { return nil }

// Alone has one such client play, without an ensemble, and returns what was recorded.
func alone(t *testing.T, phase spec.Phase, subject recipes.Contender, play func(st *stage.Stage, c *stage.Client)) []history.Record {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history", "alone.zst")
	record := create(t, path)
	st := &stage.Stage{
		Scenario: &spec.Scenario{SessionTimeout: time.Minute}, Phase: phase, Clock: history.Start(), Record: record, Holder: stage.NewHolder(),
		Cell: spec.Cell{Subject: recipes.Subject{Recipe: recipes.RecipeLock}},
	}
	st.Tap, st.Faults = wire.New(st.Clock.Now), stage.NewFaults(t.Context(), st, nil, 0)
	c, opened := stage.NewClient(st, 0), recipes.Client(subject)
	c.Subject.Store(&opened)
	st.Clients = []*stage.Client{c}
	play(st, c)
	must(t, record.Close())
	return recordsOf(t, path)
}

func TestClient_convertsTheInstantsOfAdapters(t *testing.T) {
	var at, lost time.Time
	var clock history.Clock
	records := alone(t, spec.Phase{Name: "p"}, contender{func(context.Context) (recipes.Claim, error) {
		at = time.Now()
		time.Sleep(2 * time.Millisecond) // what an adapter does afterwards
		return recipes.Claim{At: at, Token: 7}, nil
	}}, func(st *stage.Stage, c *stage.Client) {
		clock = st.Clock
		_, err := c.Acquire(t.Context())
		must(t, err)
		lost = time.Now()
		time.Sleep(2 * time.Millisecond) // on its way
		c.HandleEvent(recipes.Event{Kind: recipes.EventLost, Token: 7, At: lost})
	})
	s, e := only[*history.Sample](t, records), only[*history.Session](t, records)
	if s.Return != clock.At(at) {
		t.Errorf("the acquire returned at %v, recorded is %v", clock.At(at), s.Return)
	}
	if e.At != clock.At(lost) {
		t.Errorf("the client learned at %v, recorded is %v", clock.At(lost), e.At)
	}
}

// A driver need not name the token of its grant: zkbench reads the token of the claim's node, unless the node belongs to
// another session, and later events of the driver concern that grant.
func TestClient_ofADriverThatNamesNoToken(t *testing.T) {
	o := observer.NewObserver(ensemble, 4*time.Second, "/zkbench-token")
	line := o.Root + "/line"
	must(t, o.Open(t.Context(), line))
	t.Cleanup(func() { must(t, o.Close()) })
	s, err := recipes.Open(t.Context(), ensemble.Servers(), observer.HarnessOptions(ensemble, 4*time.Second))
	must(t, err)
	defer s.Close()
	node, err := s.Create(t.Context(), line+"/holder", nil, zk.FlagEphemeral)
	must(t, err)
	for session, known := range map[int64]bool{s.ID(): true, s.ID() + 1: false} {
		alone(t, spec.Phase{Name: "p"}, contender{func(context.Context) (recipes.Claim, error) {
			return recipes.Claim{Path: node, Session: session}, nil
		}}, func(st *stage.Stage, c *stage.Client) {
			st.Observer = o
			claim, err := c.Acquire(t.Context())
			must(t, err)
			if claim.Token != 0 != known {
				t.Errorf("session %#x was granted token %#x, known: %v", session, claim.Token, known)
			}
			c.HandleEvent(recipes.Event{Kind: recipes.EventLost})
			if !c.HasLost(claim.Token) {
				t.Errorf("after the driver reported a loss, the client still holds token %#x", claim.Token)
			}
		})
	}
}

// What ended a belief before it began is recorded once more when it begins. What a client
// learned before it called, or of an acquire that failed, is not: its session may be another
// by then.
func TestClient_recordsOnceMoreWhatItLearnedOfThisGrant(t *testing.T) {
	lost := func(token int64) recipes.Event {
		return recipes.Event{Kind: recipes.EventLost, Token: token, Session: 3}
	}
	for _, row := range []struct {
		about          string
		before, during int64 // tokens of what it learns; -1 where it learns nothing
		token          int64 // what is granted; -1: nothing is
		want           int   // records
	}{
		{"of this grant, before it returned", -1, 7, 7, 2},
		{"of another", -1, 6, 7, 1},
		{"before, and the acquire fails", 0, -1, -1, 1},
		{"meanwhile, and the acquire fails", -1, 0, -1, 1},
		{"before, and the grant has no token", 0, -1, 0, 1},
	} {
		t.Run(row.about, func(t *testing.T) {
			var c *stage.Client
			records := alone(t, spec.Phase{Name: "p"}, contender{func(context.Context) (recipes.Claim, error) {
				if row.during >= 0 {
					c.HandleEvent(lost(row.during))
				}
				if row.token < 0 {
					return recipes.Claim{}, errors.New("given up")
				}
				return recipes.Claim{Token: row.token}, nil
			}}, func(_ *stage.Stage, played *stage.Client) {
				if c = played; row.before >= 0 {
					c.HandleEvent(lost(row.before))
				}
				_, _ = c.Acquire(t.Context())
			})
			if got := len(of[*history.Session](records)); got != row.want {
				t.Errorf("%d records of a session, want %d", got, row.want)
			}
		})
	}
}

func TestStage_recordsWhoWaitsWhenClientsAreToldToStop(t *testing.T) {
	records := alone(t, spec.Phase{Name: "p", Duration: 30 * time.Millisecond}, contender{func(ctx context.Context) (recipes.Claim, error) {
		<-ctx.Done()
		return recipes.Claim{}, ctx.Err()
	}}, func(st *stage.Stage, c *stage.Client) {
		phase, _, end := st.Timed(t.Context())
		defer end()
		if _, err := c.Acquire(phase); err == nil {
			t.Error("nobody could grant that")
		}
		if st.StoppedAt.Load() == 0 {
			t.Error("nobody noted when the client was told to stop")
		}
	})
	w, s := only[*history.Waiting](t, records), only[*history.Sample](t, records)
	if w.Op != history.Acquire || w.Call != s.Call || w.At > s.Return || w.At < 30*time.Millisecond {
		t.Errorf("it waited %+v, and its acquire is %+v", w, s)
	}
}

// Where every acquire fails at once, a client does not spin.
func TestClient_backsOffAfterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		records := alone(t, spec.Phase{Name: "p", Duration: time.Minute}, contender{func(context.Context) (recipes.Claim, error) {
			calls++
			return recipes.Claim{}, errors.New("not today")
		}}, func(st *stage.Stage, c *stage.Client) {
			before := st.States()
			phase, _, end := st.Timed(t.Context())
			defer end()
			c.Loop(phase)
			st.RecordEfforts(before)
		})
		if calls < 60 || calls > 200 {
			t.Errorf("%d calls in a minute, want one in half a second to a second once it is clear that it is in vain", calls)
		}
		if e := only[*history.Effort](t, records); e.BackOff < 59*time.Second || e.BackOff > time.Minute {
			t.Errorf("it backed off for %v of a minute in which nothing else happened", e.BackOff)
		}
	})
}
