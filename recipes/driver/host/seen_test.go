package host

import (
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// A token is the subject's own number where the wire shows another for its node; where nobody
// looks at the wire, it is what the subject says.
func TestSeen_whoseNumberATokenIs(t *testing.T) {
	wire := func() recipes.Claim { return recipes.Claim{Session: 42, Path: "/lock/n-1", Token: 3} }
	for _, row := range []struct {
		name  string
		seen  func() recipes.Claim
		token lines.Int64
		own   bool
	}{
		{"the czxid of its node", wire, 3, false},
		{"another number", wire, 7, true},
		{"nobody looks", nil, 7, false},
	} {
		c := Client{env: recipes.Env{Seen: row.seen}}
		claim := c.seen(&lines.OK{Node: "/lock/n-1", Token: &row.token})
		if claim.Own != row.own || claim.Token != int64(row.token) {
			t.Errorf("%s: %+v, want own %v", row.name, claim, row.own)
		}
	}
}
