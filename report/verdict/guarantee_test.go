package verdict

import (
	"slices"
	"strings"
	"testing"
)

func TestAll_everyGuaranteeSaysWhatItPromises(t *testing.T) {
	seen := map[string]bool{}
	last := 0
	for _, g := range All() {
		if g.Name == "" || seen[g.Name] {
			t.Errorf("%+v: a guarantee needs a name of its own", g)
		}
		seen[g.Name] = true
		if g.Rule < max(last, 1) || g.Rule > 12 {
			t.Errorf("%s: rule %d after rule %d; they stand in the order of the rules, of which there are twelve", g.Name, g.Rule, last)
		}
		last = g.Rule
		if len(g.Concerns) == 0 || g.check == nil {
			t.Errorf("%s: whom does it concern, and who checks it?", g.Name)
		}
		for _, kind := range g.Concerns {
			if !slices.Contains(anyRecipe, kind) {
				t.Errorf("%s concerns %q, which is no kind of recipe", g.Name, kind)
			}
		}
		for _, sentence := range []string{g.Promise, g.Harm} {
			if !strings.HasSuffix(sentence, ".") {
				t.Errorf("%s: %q is no sentence", g.Name, sentence)
			}
		}
		if g.Help == "" || strings.HasSuffix(g.Help, ".") {
			t.Errorf("%s: the help is a line in a list, not %q", g.Name, g.Help)
		}
	}
}

func TestFind(t *testing.T) {
	if g, ok := Find(FIFO); !ok || g.Rule != 6 {
		t.Errorf("found %+v, %v", g, ok)
	}
	if g, ok := Find(Readable); ok {
		t.Errorf("%+v is about the history, and no guarantee", g)
	}
}
