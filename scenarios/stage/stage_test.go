package stage

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// A client must be able to do what the recipe of its subject asks for.
func TestStage_acceptsAClientThatCanDoWhatItsRecipeNeeds(t *testing.T) {
	type closes struct{ recipes.Client }
	type contends struct{ recipes.Contender }
	type takes struct{ recipes.QueueClient }
	for _, row := range []struct {
		recipe recipes.Recipe
		client recipes.Client
		err    string
	}{
		{recipes.RecipeLock, contends{}, ""},
		{recipes.RecipeElection, contends{}, ""},
		{recipes.RecipeQueue, takes{}, ""},
		{recipes.RecipeQueue, contends{}, "does not implement recipes.QueueClient"},
		{recipes.RecipeLock, takes{}, "does not implement recipes.Contender"},
		{recipes.RecipeQueue, closes{}, "does not implement recipes.QueueClient"},
	} {
		err := checkInterface(recipes.Subject{Name: "x", Recipe: row.recipe}, row.client)
		if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
			t.Errorf("a %s with %T: %v", row.recipe, row.client, err)
		}
	}
}

// pinned is a holder that is client 3, at which a fault has been aimed. released is when it let go.
func pinned(t *testing.T) (p *Holder, released <-chan time.Duration) {
	p = NewHolder()
	if got := p.current(true); got != -1 {
		t.Fatalf("nobody holds, and the fault is aimed at %d", got)
	}
	p.set(3)
	if got := p.current(true); got != 3 {
		t.Fatalf("client 3 holds, and the fault is aimed at %d", got)
	}
	start, c := time.Now(), make(chan time.Duration, 1)
	go func() {
		p.AwaitUnpinned(t.Context(), 3)
		c <- time.Since(start)
	}()
	return p, c
}

func TestHolder_staysUntilItIsHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, released := pinned(t)
		time.Sleep(time.Second)
		p.AllowRelease()
		if got := <-released; got != time.Second {
			t.Errorf("the pinned holder let go after %v, it was freed after 1s", got)
		}
		if got := p.current(true); got != -1 {
			t.Errorf("a client that lets go still counts as the holder: %d", got)
		}
	})
}

func TestHolder_givesUpOnAFaultThatNeverComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, released := pinned(t); <-released != pinLimit {
			t.Errorf("the pinned holder did not let go after %v", pinLimit)
		}
	})
}

// A fault that aims again, because the first it aimed at was dead, does not keep that one.
func TestHolder_aimsAtTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, released := pinned(t)
		synctest.Wait()
		p.set(4)
		if got := p.current(true); got != 4 {
			t.Errorf("client 4 holds, and the fault is aimed at %d", got)
		}
		if got := <-released; got != 0 {
			t.Errorf("client 3 let go %v after client 4 was aimed at", got)
		}
		p.AllowRelease()
	})
}

// Readers that hold together need not wait in line.
func TestNotInLine_countsThoseThatHold(t *testing.T) {
	for recipe, want := range map[recipes.Recipe]int{recipes.RecipeLock: 1, recipes.RecipeSemaphore: 2, recipes.RecipeRWLock: 3} {
		st := &Stage{Cell: spec.Cell{Subject: recipes.Subject{Recipe: recipe}}, Scenario: &spec.Scenario{Permits: 2}}
		for i := range 4 {
			c := &Client{Number: i, Stage: st}
			c.HasGrant.Store(i > 0)
			st.Clients = append(st.Clients, c)
		}
		if got := st.NonWaiterCount(); got != want {
			t.Errorf("%s: %d of 4 clients need not wait, want %d", recipe, got, want)
		}
	}
}

// Members count notifications of persistent recursive watches that they do not send.
func TestTraffic_withRecursiveWatches(t *testing.T) {
	st := &Stage{}
	now := Counts{Fired: 9}
	if r := st.Traffic(history.OfHandoff, 1, 1, Counts{Fired: 2}, now); r.ServerNotifications == nil || *r.ServerNotifications != 7 {
		t.Errorf("without addWatch: %v", r.ServerNotifications)
	}
	for i := range now.Wire.Requests {
		now.Wire.Requests[i] = 1
	}
	if r := st.Traffic(history.OfHandoff, 1, 1, Counts{Fired: 2}, now); r.ServerNotifications != nil {
		t.Errorf("with addWatch: %v", *r.ServerNotifications)
	}
}
