package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"

	"zkbench/scenarios"
)

// live serves what a run is doing while it runs: metrics for Prometheus, and profiles
// of zkbench itself. It is told by the run, and costs it nothing where nobody asks.
type live struct {
	metrics, pprof string // addresses to listen at; "" does not

	mu       sync.Mutex
	scenario string
	now      scenarios.Status
}

func (l *live) register(fl *pflag.FlagSet) {
	fl.StringVar(&l.metrics, "metrics", "", "serve metrics for Prometheus while running, at host:port; :9090 means 127.0.0.1:9090")
	fl.StringVar(&l.pprof, "pprof", "", "serve profiles of zkbench itself while running, at host:port; may be that of --metrics")
}

// status is told by the run how far it is.
func (l *live) status(scenario string, s scenarios.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scenario, l.now = scenario, s
}

// serve listens where it was asked to, and returns what ends that.
func (l *live) serve(logf func(format string, args ...any)) (stop func(), err error) {
	muxes := map[string]*http.ServeMux{} // by address
	at := func(addr string) *http.ServeMux {
		if muxes[addr] == nil {
			muxes[addr] = http.NewServeMux()
		}
		return muxes[addr]
	}
	if l.metrics != "" {
		at(local(l.metrics)).Handle("/metrics", l.handler())
	}
	if l.pprof != "" {
		profiles(at(local(l.pprof)))
	}
	var servers []*http.Server
	stop = func() {
		for _, s := range servers {
			s.Close()
		}
	}
	for flag, addr := range map[string]string{"metrics": l.metrics, "pprof": l.pprof} {
		mux := muxes[local(addr)]
		if addr == "" || mux == nil {
			continue
		}
		delete(muxes, local(addr))
		var listen net.ListenConfig
		on, err := listen.Listen(context.Background(), "tcp", local(addr))
		if err != nil {
			stop()
			return nil, fmt.Errorf("--%s %s: %w", flag, addr, err)
		}
		s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
		servers = append(servers, s)
		go func() {
			if err := s.Serve(on); err != nil && !errors.Is(err, http.ErrServerClosed) {
				logf("--%s %s: %v", flag, addr, err)
			}
		}()
		if l.metrics != "" && local(l.metrics) == local(addr) {
			logf("metrics: http://%s/metrics", on.Addr())
		}
		if l.pprof != "" && local(l.pprof) == local(addr) {
			logf("profiles: http://%s/debug/pprof/", on.Addr())
		}
	}
	return stop, nil
}

// local binds to this machine alone where no host is given: what a run does is nobody
// else's business unless somebody says so.
func local(addr string) string {
	if strings.HasPrefix(addr, ":") {
		return "127.0.0.1" + addr
	}
	return addr
}

func profiles(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
}

func (l *live) handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(l, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// ofTrial are the labels of what is counted from the start of the trial that runs.
var ofTrial = []string{"scenario", "subject", "clients", "trial"}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("zkbench_"+name, help, labels, nil)
}

var (
	trialDesc   = desc("trial", "Which trial runs, from 1; 0 before the first.", "scenario")
	trialsDesc  = desc("trials", "How many trials the scenario has.", "scenario")
	leftDesc    = desc("left_seconds", "About how long the scenario's trials will still take.", "scenario")
	grantsDesc  = desc("grants_total", "Grants had, or items taken, in the trial.", ofTrial...)
	rateDesc    = desc("grants_per_second", "Grants a second, over the last second.", ofTrial...)
	notifyDesc  = desc("notifications_total", "Notifications delivered to the trial's clients, counted on the wire.", ofTrial...)
	requestDesc = desc("requests_total", "Requests of the trial's clients, counted on the wire.", ofTrial...)
	bytesDesc   = desc("bytes_total", "Bytes to and from the trial's clients.", append(ofTrial, "direction")...)
	flightDesc  = desc("requests_in_flight", "Requests of the trial's clients without a reply yet.", ofTrial...)
	faultDesc   = desc("fault_in_force", "1 while a fault is in force.", "scenario", "fault")
	phaseDesc   = desc("phase", "1 for the phase that runs.", "scenario", "phase")
	backlogDesc = desc("recorder_backlog", "Records that wait to be written.", "scenario")
	lostDesc    = desc("recorder_dropped_total", "Records that were dropped in the trial; must be 0.", ofTrial...)
)

// Describe and Collect make live a prometheus.Collector.
func (l *live) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{trialDesc, trialsDesc, leftDesc, grantsDesc, rateDesc, notifyDesc, requestDesc,
		bytesDesc, flightDesc, faultDesc, phaseDesc, backlogDesc, lostDesc} {
		ch <- d
	}
}

// Collect tells what the run was doing when it last said so.
func (l *live) Collect(ch chan<- prometheus.Metric) {
	l.mu.Lock()
	scenario, s := l.scenario, l.now
	l.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(trialDesc, float64(s.Trial), scenario)
	gauge(trialsDesc, float64(s.Trials), scenario)
	if s.Phase != "" {
		gauge(phaseDesc, 1, scenario, s.Phase)
	}
	if s.Trial == 0 {
		return
	}
	trial := []string{scenario, s.Subject, strconv.Itoa(s.Clients), strconv.Itoa(s.Trial)}
	count := func(d *prometheus.Desc, v int64, more ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), append(trial, more...)...)
	}
	if s.Left > 0 {
		gauge(leftDesc, s.Left.Seconds(), scenario)
	}
	if s.Fault != "" {
		gauge(faultDesc, 1, scenario, s.Fault)
	}
	gauge(rateDesc, s.Rate, trial...)
	gauge(flightDesc, float64(s.Wire.InFlight), trial...)
	gauge(backlogDesc, float64(s.Backlog), scenario)
	count(grantsDesc, s.Grants)
	count(notifyDesc, s.Wire.Notifications.Total())
	count(requestDesc, s.Wire.Requests.Total())
	count(bytesDesc, s.Wire.BytesIn, "in")
	count(bytesDesc, s.Wire.BytesOut, "out")
	count(lostDesc, int64(s.Lost))
}
