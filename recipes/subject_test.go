package recipes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// openSubject opens a client of a subject through a tap, with its events.
func openSubject(t *testing.T, subject Subject, parent string) (Client, wire.Client, chan Event) {
	t.Helper()
	ctx, tap, events := within(t, 10*time.Second), newTap(0), make(chan Event, 10)
	c, err := subject.Open(ctx, Env{
		Servers: servers, Parent: parent, Timeout: 4 * time.Second, Dial: tap.Dial,
		MaxPacket: 64 << 10, Events: func(e Event) { events <- e },
	})
	must(t, err)
	t.Cleanup(func() { c.Close(ctx) })
	return c, tap, events
}

func TestSubjects_doWhatTheirRecipeSays(t *testing.T) {
	for _, subject := range Subjects() {
		t.Run(subject.Name, func(t *testing.T) {
			parent := freshPath()
			a, _, _ := openSubject(t, subject, parent)
			b, _, _ := openSubject(t, subject, parent)
			if subject.Recipe == RecipeQueue {
				passItems(t, a.(QueueClient), b.(QueueClient))
			} else {
				takeTurns(t, a.(Contender), b.(Contender))
			}
		})
	}
}

func takeTurns(t *testing.T, a, b Contender) {
	ctx := within(t, 10*time.Second)
	first, err := a.Acquire(ctx)
	must(t, err)
	next := begin(ctx, b.Acquire)
	must(t, a.Release(ctx))
	second := (<-next).must(t)
	if first.Token == 0 || second.Token <= first.Token || first.Session == second.Session || !strings.HasPrefix(second.Path, "/") {
		t.Errorf("claims %+v, then %+v", first, second)
	}
	must(t, b.Release(ctx))
	if err := b.Release(ctx); err == nil {
		t.Error("released what was not held")
	}
}

func passItems(t *testing.T, a, b QueueClient) {
	ctx := within(t, 10*time.Second)
	for _, item := range []string{"a", "", "c"} {
		must(t, a.Put(ctx, []byte(item)))
		if got, err := b.Take(ctx); err != nil || got == nil || string(got) != item {
			t.Errorf("took %q, %v; put %q", got, err, item)
		}
	}
}

func TestSubjects_reportSuspendedRestoredAndLost(t *testing.T) {
	for _, subject := range Subjects() {
		t.Run(subject.Name, func(t *testing.T) {
			t.Parallel()
			ctx := within(t, 20*time.Second)
			c, tap, events := openSubject(t, subject, freshPath())
			ours, ok := c.(*contender)
			if !ok {
				t.Skip("is not built on a session of ours")
			}
			claim, err := ours.Acquire(ctx)
			must(t, err)
			next := func(want EventKind) {
				t.Helper()
				select {
				case e := <-events:
					if e.Kind != want || e.Token != claim.Token {
						t.Errorf("event %+v, want %s of %#x", e, want, claim.Token)
					}
				case <-ctx.Done():
					t.Fatalf("no event %s", want)
				}
			}
			tap.Cut()
			next(EventSuspended)
			next(EventRestored)
			tap.SetGateClosed(true)
			tap.Cut()
			next(EventSuspended)
			next(EventLost)
			if err := ours.Release(ctx); !errors.Is(err, ErrGrantLost) || !errors.Is(err, ErrSessionEnded) {
				t.Errorf("releasing what is lost: %v", err)
			}
		})
	}
}

func TestSubjects_areInOrderOfTheirNames(t *testing.T) {
	if !slices.IsSortedFunc(Subjects(), func(a, b Subject) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("they are not")
	}
	if _, err := Find("lock/nobody's"); err == nil {
		t.Error("found a subject that nobody registered")
	}
}

func TestRegister_refuses(t *testing.T) {
	for _, row := range []struct {
		subject Subject
		want    string
	}{
		{Subject{Name: "lock/parent", Recipe: RecipeLock}, `"lock/parent" is registered twice`},
		{Subject{Name: "phaser/mine", Recipe: "phaser"},
			`"phaser/mine" has recipe "phaser"; the recipes are [lock election queue rwlock semaphore barrier]`},
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, row.want) {
					t.Errorf("it says %q, want %q", text, row.want)
				}
			}()
			Register(row.subject)
		}()
	}
}
