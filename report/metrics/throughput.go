package metrics

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// Throughput names the rate of grants, or of items taken.
const Throughput = "throughput"

func init() {
	register(Family{
		Order: 50, About: "Rates, in phases in which the clients, or a rate, set the pace:",
		Definitions: []Definition{
			{Name: Throughput, Unit: "1/s", Better: Higher, PerPhase: true, Shown: []string{"value"}, Main: "value", Decides: true,
				Help: "Grants, or items taken, per second; without drains and ramps"},
		},
		collect: func(f *Fold) collector {
			x := &throughput{fold: f, done: map[string]int64{}}
			return collector{sample: x.sample, close: x.close}
		},
	})
}

type throughput struct {
	fold *Fold
	done map[string]int64
}

func (x *throughput) sample(s *history.Sample, p *history.Phase) {
	if counted(s, p) {
		x.done[s.Phase]++
	}
}

func (x *throughput) close(out map[string]Metric) {
	var all int64
	var long time.Duration
	names := x.fold.rated()
	for _, name := range names {
		p := x.fold.phase(name) // a history without phases is a phase
		n, took := x.done[name], x.fold.endOf(p)-p.Start
		if took <= 0 {
			continue
		}
		all, long = all+n, long+took
		if p != &noPhase && len(names) > 1 {
			out[Throughput+"."+name] = Metric{Unit: "1/s", Phase: name, Count: &n, Value: new(float64(n) / took.Seconds())}
		}
	}
	if long <= 0 {
		return
	}
	m := Metric{Unit: "1/s", Value: new(float64(all) / long.Seconds()), Count: &all}
	if len(names) == 1 {
		m.Phase = names[0]
	}
	out[Throughput] = m
}
