package recipes

import (
	"strconv"
	"strings"
	"testing"
)

// TestFormulas holds the words to the numbers where the words are a number.
func TestFormulas(t *testing.T) {
	for _, recipe := range []string{"lock", "election", "queue"} {
		for _, v := range []Variant{Parent, Predecessor} {
			for _, f := range Formulas(recipe, v) {
				text, _, _ := strings.Cut(f.Text, ":")
				leave, back := FlapCost(recipe, v, 10, 4)
				want := map[string]int64{
					"hand-off": DrainCost(v, 10, 10).Notifications / 9, "item": QueueCost(v, 10, 1).Notifications, "flap": leave + back,
				}[f.Of]
				said := map[string]int64{"N": 10, "(N+2)/2 on average while N contenders drain": 6, "2N-3": 17}
				got, known := said[text]
				if !known {
					n, err := strconv.Atoi(text)
					if err != nil {
						t.Fatalf("%s/%s: %q is no number", recipe, v, text)
					}
					got = int64(n)
				}
				if got != want {
					t.Errorf("%s/%s, %s: the words say %d with 10 contenders, the formula %d", recipe, v, f.Of, got, want)
				}
			}
		}
	}
	if Formulas("lock", "") != nil {
		t.Error("a subject without a variant has a formula")
	}
}
