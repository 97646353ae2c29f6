package stage

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
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

func TestHolder_staysUntilItIsHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewHolder()
		if got := p.current(true); got != -1 {
			t.Fatalf("nobody holds, and the fault is aimed at %d", got)
		}
		p.set(3)
		if got := p.current(true); got != 3 {
			t.Fatalf("client 3 holds, and the fault is aimed at %d", got)
		}
		start, released := time.Now(), make(chan time.Duration, 1)
		go func() {
			p.AwaitUnpinned(t.Context(), 3)
			released <- time.Since(start)
		}()
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
		p := NewHolder()
		p.set(3)
		p.current(true)
		start := time.Now()
		p.AwaitUnpinned(t.Context(), 3)
		if got := time.Since(start); got != pinLimit {
			t.Errorf("the pinned holder let go after %v, want %v", got, pinLimit)
		}
	})
}

// A fault that aims again, because the first it aimed at was dead, does not keep that one.
func TestHolder_aimsAtTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewHolder()
		p.set(3)
		p.current(true)
		start, released := time.Now(), make(chan time.Duration, 1)
		go func() {
			p.AwaitUnpinned(t.Context(), 3)
			released <- time.Since(start)
		}()
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
