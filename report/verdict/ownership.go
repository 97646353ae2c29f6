package verdict

import (
	"fmt"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

const OwnershipQuery = "ownership-query"

func init() {
	register(Guarantee{
		Name: OwnershipQuery, Rule: 2, Concerns: granting,
		Promise: "A client that was notified that its session is lost answers that it does not hold (isOwner, isAcquired, hasLeadership).",
		Harm:    "Code that checks before it acts runs at the same time as the next holder.",
		Help:    "a client said that it holds after it was notified that its session was lost",
		check:   newOwnershipQuery,
	})
}

// ownership checks the recipes' answers after a loss.
type ownership struct {
	lost     map[int]loss // the last loss of each client
	answers  int
	rejected evidence
}

func newOwnershipQuery(*inputs) checker {
	o := &ownership{lost: map[int]loss{}}
	return checker{record: o.record, finish: o.finish}
}

func (o *ownership) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Session:
		if r.Event == history.Lost {
			o.lost[r.Client] = loss{r.Session, r.At, n.N}
		}
	case *history.Holds:
		o.answers++
		if l := o.lost[r.Client]; r.Holds && l.record > 0 && l.session == r.Session {
			o.rejected.add([]int{l.record, n.N}, "client %d answered at %v that it holds (record %d), %v after it was notified that its session %#x was lost (record %d), and had begun nothing since",
				r.Client, r.At, n.N, r.At-l.at, uint64(l.session), l.record)
		}
	}
}

func (o *ownership) finish(ending) Verdict {
	switch {
	case o.rejected.count > 0:
		return o.rejected.fail("answers")
	case o.answers == 0:
		return notJudged("no client that reports its ownership lost a grant")
	}
	return pass(fmt.Sprintf("%s after a loss", units.Plural(o.answers, "answer")))
}
