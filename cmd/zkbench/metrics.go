package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/zkbench/zkbench/scenarios"
)

// live serves Prometheus metrics of a run in progress. It costs nothing while there are no requests.
type live struct {
	at string // the address of --metrics; "" for none

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

func (l *live) serve(logf func(format string, args ...any)) (stop func(), err error) {
	if l.at == "" {
		return func() {}, nil
	}
	on, err := net.Listen("tcp", local(l.at))
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", l.at, err)
	}
	pages := http.NewServeMux()
	pages.Handle("/metrics", l.handler())
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(on); err != nil && !errors.Is(err, http.ErrServerClosed) {
			logf("--metrics %s: %v", l.at, err)
		}
	}()
	logf("metrics: http://%s/metrics", on.Addr())
	return func() { server.Close() }, nil
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

// reachable returns an error if nobody could reach the metrics, since the run moves to a network of
// its own.
func (l *live) reachable() error {
	if l.at == "" {
		return nil
	}
	return usageError("--metrics cannot be reached here: without root, local members and this process get a network of their own (use --ensemble container, or root)")
}

// ofTrial are the labels of counts since the start of a trial. They are unique in a run.
var ofTrial = []string{"scenario", "subject", "clients", "trial"}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("zkbench_"+name, help, labels, nil)
}

var (
	trialDesc   = desc("trial", "The latest trial to have begun, from 1; 0 before the first.", "scenario")
	trialsDesc  = desc("trials", "How many trials the scenario has.", "scenario")
	leftDesc    = desc("left_seconds", "An estimate of the time until the scenario's last trial ends.", "scenario")
	grantsDesc  = desc("grants_total", "Grants had, or items taken, in the trial.", ofTrial...)
	notifyDesc  = desc("notifications_total", "Notifications delivered to the trial's clients, counted on the wire.", ofTrial...)
	requestDesc = desc("requests_total", "Requests of the trial's clients, counted on the wire.", ofTrial...)
	bytesDesc   = desc("bytes_total", "Bytes to and from the trial's clients.", append(ofTrial, "direction")...)
	flightDesc  = desc("requests_in_flight", "Requests of the trial's clients without a reply yet.", ofTrial...)
	faultDesc   = desc("fault_in_force", "1 while a fault is active in the trial.", append(ofTrial, "fault")...)
	phaseDesc   = desc("phase", "1 for the phase that the trial is in; of no trial while members warm up.", append(ofTrial, "phase")...)
	backlogDesc = desc("recorder_backlog", "Records of the trial that wait to be written.", ofTrial...)
	lostDesc    = desc("recorder_dropped_total", "Records that were dropped in the trial; must be 0.", ofTrial...)
)

func (l *live) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{trialDesc, trialsDesc, leftDesc, grantsDesc, notifyDesc, requestDesc,
		bytesDesc, flightDesc, faultDesc, phaseDesc, backlogDesc, lostDesc} {
		ch <- d
	}
}

// Collect sends the last status of the run. It holds the lock only to copy it: trials report their
// status from measured paths.
func (l *live) Collect(ch chan<- prometheus.Metric) {
	l.mu.Lock()
	scenario, phase, left := l.scenario, l.phase, l.left
	trial, trials := l.trial, l.trials
	running := l.running()
	all := make([]latest, len(l.latest))
	for i, h := range l.latest {
		all[i] = *h
	}
	l.mu.Unlock()
	to := series{ch, []string{scenario}}
	to.gauge(trialDesc, float64(trial))
	to.gauge(trialsDesc, float64(trials))
	if running && left > 0 {
		to.gauge(leftDesc, left.Seconds())
	}
	if phase != "" {
		to.gauge(phaseDesc, 1, "", "", "", phase)
	}
	for i := range all {
		all[i].collect(ch)
	}
}

func (h *latest) collect(ch chan<- prometheus.Metric) {
	to := series{ch, []string{h.scenario, h.Subject, strconv.Itoa(h.Clients), strconv.Itoa(h.Trial)}}
	n := h.counts()
	to.count(grantsDesc, n.grants)
	to.count(notifyDesc, n.notifications)
	to.count(requestDesc, n.requests)
	to.count(bytesDesc, n.in, "in")
	to.count(bytesDesc, n.out, "out")
	to.count(lostDesc, n.lost)
	if h.Over {
		return
	}
	to.gauge(flightDesc, float64(h.Wire.InFlight))
	to.gauge(backlogDesc, float64(h.Backlog))
	if h.Phase != "" {
		to.gauge(phaseDesc, 1, h.Phase)
	}
	if h.Fault != "" {
		to.gauge(faultDesc, 1, h.Fault)
	}
}

// series sends metrics that share their first labels.
type series struct {
	ch     chan<- prometheus.Metric
	labels []string
}

func (s series) gauge(d *prometheus.Desc, v float64, more ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, slices.Concat(s.labels, more)...)
}

func (s series) count(d *prometheus.Desc, v int64, more ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), slices.Concat(s.labels, more)...)
}
