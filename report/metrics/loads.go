package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Names of the metrics of the members' load.
const (
	MemberQueue       = "member.queue"
	MemberLatency     = "member.latency.max"
	MemberLatencyMean = "member.latency.mean"
	MemberConnections = "member.connections"
	MemberSilent      = "member.silent"
)

func init() {
	register(Family{
		Order: 67, About: "The members' load in a connect, by their own word (mntr):",
		Definitions: []Definition{
			{Name: MemberQueue, Unit: "1", Better: Lower, Shown: []string{"value"}, Main: "value",
				Help: "Maximum number of requests that a member had received but not answered; count is the number of answers from members"},
			{Name: MemberLatency, Unit: "ns", Better: Lower, Help: "A member's longest request latency, to the millisecond"},
			{Name: MemberLatencyMean, Unit: "ns", Better: Lower, Help: "Mean request latency of the slowest member, over the phase or since its start"},
			{Name: MemberConnections, Unit: "1", Help: "Maximum number of client connections of a member"},
			{Name: MemberSilent, Unit: "1", Better: Lower, Help: "How often a member did not answer a query for its load; count is the number of queries"},
		},
		collect: func(*Fold) collector {
			x := &memberLoads{silent: map[string]int{}, means: map[string]time.Duration{}}
			return collector{record: x.record, close: x.close}
		},
	})
}

// memberLoads collects the members' reports of their load.
type memberLoads struct {
	most        *history.MemberLoad // with the longest queue
	connections int64
	answers     int64
	silent      map[string]int           // by member
	means       map[string]time.Duration // by member, the latest
	max         time.Duration
}

func (x *memberLoads) record(r history.Record) {
	l, is := r.(*history.MemberLoad)
	if !is {
		return
	}
	if l.Err != "" || l.Outstanding == nil || l.Connections == nil {
		x.silent[l.Member]++
		return
	}
	x.answers++
	if x.most == nil || *l.Outstanding > *x.most.Outstanding {
		x.most = l
	}
	x.connections = max(x.connections, *l.Connections)
	if l.LatencyMean != nil && l.LatencyMax != nil {
		x.means[l.Member], x.max = *l.LatencyMean, max(x.max, *l.LatencyMax)
	}
}

func (x *memberLoads) close(out map[string]Metric) {
	silent := int64(0)
	var who []string
	for _, m := range slices.Sorted(maps.Keys(x.silent)) {
		silent += int64(x.silent[m])
		who = append(who, fmt.Sprintf("%s %s", m, units.Plural(x.silent[m], "time")))
	}
	if x.answers+silent == 0 {
		return
	}
	out[MemberSilent] = of(MemberSilent, float64(silent), x.answers+silent)
	if silent > 0 {
		m := out[MemberSilent]
		m.Note = strings.Join(who, ", ")
		out[MemberSilent] = m
	}
	if x.most == nil {
		return
	}
	queue := of(MemberQueue, float64(*x.most.Outstanding), x.answers)
	queue.Phase, queue.Note = x.most.Phase, x.when()
	out[MemberQueue] = queue
	out[MemberConnections] = of(MemberConnections, float64(x.connections), x.answers)
	if len(x.means) > 0 {
		out[MemberLatency] = value(MemberLatency, float64(x.max))
		out[MemberLatencyMean] = value(MemberLatencyMean, float64(slices.Max(slices.Collect(maps.Values(x.means)))))
	}
}

// when tells which member's queue was the longest, and when.
func (x *memberLoads) when() string {
	switch {
	case *x.most.Outstanding == 0:
		return ""
	case x.most.Opening:
		return x.most.Member + ", while sessions were being opened"
	}
	return x.most.Member + ", after all had been opened"
}
