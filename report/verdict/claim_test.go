package verdict

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestClaimValidity(t *testing.T) {
	judgeStories(t, ClaimValidity, []row{
		{"a grant of the client's own session is valid", `
			opened 1 101
			acquire 1 5 0 10`, Pass, ""},
		{"a grant without a token is a claim without a node", `
			opened 1 101
			acquire 1 0 0 10`, Fail, "token 0 (record 2)"},
		{"a grant that was asked for after the loss was delivered is invalid", `
			opened 1 101
			session lost 1 5
			acquire 1 5 6 10`, Fail, "5ms after it had heard that session 0x65 was gone (record 2)"},
		{"a grant that returned while the loss was being delivered is no proof", `
			opened 1 101
			session lost 1 5
			acquire 1 5 0 10`, Pass, ""},
		{"a grant that returned long after the loss is invalid", `
			opened 1 101
			session lost 1 5
			acquire 1 5 0 2000`, Fail, "1.995s after"},
		{"a grant that names no session is an invalid claim", "acquire 1 5 0 10\nopened 2 7", Fail, "without a node"},
		{"no grant, no verdict", "opened 1 101\nacquire 1 5 0 10 failed", Unknown, "nothing was granted"},
	})
}

func TestClaimValidity_ofAGrantFromAnotherSession(t *testing.T) {
	for _, c := range []struct {
		name     string
		session  int64
		returned int
		want     string
	}{
		{"a grant of a session long gone is not the client's own", 101, 9010, Fail},
		{"nor is one of the session before, long after the new one", 102, 9010, Fail},
		{"a grant of the session before may return while the new one opens", 102, 500, Pass},
		{"a grant of the present session is the client's own", 103, 9010, Pass},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := story(t, fmt.Sprintf("opened 1 101\nopened 1 102\nopened 1 103\nacquire 1 6 10 %d", c.returned))
			for n := range h.Records {
				if s, ok := n.Record.(*history.Sample); ok {
					s.Session = c.session
				}
			}
			vs := Judge(h)
			i := slices.IndexFunc(vs, func(v Verdict) bool { return v.Guarantee == ClaimValidity })
			if vs[i].Result != c.want {
				t.Errorf("got %+v, want %s", vs[i], c.want)
			}
		})
	}
}
