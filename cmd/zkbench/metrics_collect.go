package main

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

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
	rateDesc    = desc("grants_per_second", "Grants a second, over the last half second or more of the trial's own turns.", ofTrial...)
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
	for _, d := range []*prometheus.Desc{trialDesc, trialsDesc, leftDesc, grantsDesc, rateDesc, notifyDesc, requestDesc,
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

// collect sends one trial: everything while it runs, only its counts afterwards.
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
	to.gauge(rateDesc, h.Rate)
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
