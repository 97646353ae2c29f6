package main

import (
	"errors"
	"fmt"
	"net/http"
	_ "net/http/pprof" // registers itself at http.DefaultServeMux
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/scenarios"
)

// live serves Prometheus metrics of a run in progress, and profiles of zkbench. It costs nothing
// while there are no requests.
type live struct {
	metrics, pprof string

	mu       sync.Mutex
	scenario string
	trial    int           // the latest that has begun
	trials   int           // number of the scenario's trials
	left     time.Duration // until the scenario's last trial ends
	phase    string        // while no trial runs: warm-up
	latest   []*latest     // of every trial, in order of beginning; of ended ones the last few
}

// latest is the last status of a trial, with its labels.
type latest struct {
	scenario string
	scenarios.Status
	before counts // of the earlier run of the same trial
}

// counts must not decrease: Prometheus takes a decrease for a reset and adds the whole count again.
type counts struct{ grants, notifications, requests, in, out, lost int64 }

func (h *latest) counts() counts {
	b, w := h.before, &h.Wire
	return counts{
		grants: b.grants + h.Grants, notifications: b.notifications + w.Notifications.Total(),
		requests: b.requests + w.Requests.Total(), in: b.in + w.BytesIn, out: b.out + w.BytesOut,
		lost: b.lost + int64(h.Lost),
	}
}

func (l *live) register(fl *pflag.FlagSet) {
	fl.StringVar(&l.metrics, "metrics", "", "serve metrics for Prometheus while running, at host:port; :9090 means 127.0.0.1:9090")
	fl.StringVar(&l.pprof, "pprof", "", "serve zkbench's own profiles during the run, at host:port; may be the same as --metrics")
}

func (l *live) status(scenario string, s scenarios.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if scenario != l.scenario {
		l.scenario, l.trial, l.trials = scenario, 0, 0
	}
	l.phase, l.left = "", s.Left
	if s.Trial == 0 {
		l.phase = s.Phase
		return
	}
	l.trials = s.Trials
	if l.running() {
		l.trial = max(l.trial, s.Trial)
	} else {
		l.trial = s.Trial
	}
	l.keepLatest(scenario, s)
	l.forget()
}

func (l *live) keepLatest(scenario string, s scenarios.Status) {
	i := slices.IndexFunc(l.latest, func(h *latest) bool { return h.scenario == scenario && h.Trial == s.Trial })
	h := &latest{scenario: scenario}
	if i >= 0 {
		h = l.latest[i]
		if h.Over && !s.Over { // the scenario is run again: its counts continue
			h.before = h.counts()
			l.latest = slices.Delete(l.latest, i, i+1)
			i = -1
		}
	}
	if i < 0 {
		l.latest = append(l.latest, h)
	}
	h.Status = s
}

func (l *live) running() bool {
	return slices.ContainsFunc(l.latest, func(h *latest) bool { return !h.Over })
}

// keep is the number of ended trials whose counts are still served: a trial may be shorter than the
// scrape interval, and a run may have thousands.
const keep = 100

// forget drops the oldest ended trials beyond keep.
func (l *live) forget() {
	over := 0
	for i, h := range slices.Backward(l.latest) {
		if h.Over {
			over++
		}
		if h.Over && over > keep {
			l.latest = slices.Delete(l.latest, i, i+1)
		}
	}
}

// serve listens at the addresses of the flags until stop is called.
func (l *live) serve(logf func(format string, args ...any)) (stop func(), err error) {
	servers := map[string]*http.Server{} // by the address in the flags
	stop = func() {
		for _, s := range servers {
			s.Close()
		}
	}
	for _, page := range []struct {
		flag, at, what, path string
		handler              http.Handler
	}{
		{"metrics", l.metrics, "metrics", "/metrics", l.handler()},
		{"pprof", l.pprof, "profiles", "/debug/pprof/", http.DefaultServeMux},
	} {
		if page.at == "" {
			continue
		}
		at := local(page.at)
		if servers[at] == nil {
			on, err := listen(at)
			if err != nil {
				stop()
				return nil, fmt.Errorf("--%s %s: %w", page.flag, page.at, err)
			}
			s := &http.Server{Addr: on.Addr().String(), Handler: http.NewServeMux(), ReadHeaderTimeout: 5 * time.Second}
			servers[at] = s
			go func() {
				if err := s.Serve(on); err != nil && !errors.Is(err, http.ErrServerClosed) {
					logf("--%s %s: %v", page.flag, page.at, err)
				}
			}()
		}
		servers[at].Handler.(*http.ServeMux).Handle(page.path, page.handler)
		logf("%s: http://%s%s", page.what, servers[at].Addr, page.path)
	}
	return stop, nil
}

// local adds 127.0.0.1 to an address without a host, so that other machines cannot connect unless
// the user allows it.
func local(addr string) string {
	if strings.HasPrefix(addr, ":") {
		return "127.0.0.1" + addr
	}
	return addr
}

func (l *live) handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(l, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
