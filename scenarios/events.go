package scenarios

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/zkbench/zkbench/chaos"
)

// event is a moment that a fault can wait for. The zero event is the start of the phase.
type event struct {
	kind string // firstGrant, holds, wait or grants
	n    int    // the client, the share in percent, or the number of grants
}

// The forms of an event in a scenario.
const (
	firstGrant = "first grant"
	holds      = "client N holds"
	wait       = "N% wait"
	grants     = "N grants"
)

var eventForms = []struct {
	kind string
	form *regexp.Regexp
}{
	{holds, regexp.MustCompile(`^client (\d{1,6}) holds$`)},
	{wait, regexp.MustCompile(`^(\d{1,3}) ?% wait$`)},
	{grants, regexp.MustCompile(`^(\d{1,9}) grants$`)},
}

// parseEvent parses an event: "first grant"; "client 3 holds", when that client becomes the holder;
// "50% wait", when that share of the clients have called acquire and wait; "100 grants", when that
// many were granted. Each counts from the start of the phase and occurs once.
func parseEvent(text string) (event, error) {
	if text == "" || text == firstGrant {
		return event{kind: text, n: 1}, nil
	}
	for _, f := range eventForms {
		if m := f.form.FindStringSubmatch(text); m != nil {
			n, err := strconv.Atoi(m[1])
			if f.kind == wait && (n < 1 || n > 100) || f.kind == grants && n < 1 {
				break
			}
			return event{f.kind, n}, err
		}
	}
	return event{}, fmt.Errorf("%q is no event; there is %s", text, strings.Join([]string{firstGrant, `"client 3 holds"`, `"50% wait"`, `"100 grants"`}, ", "))
}

// moments triggers the events of one phase. Churn calls it on the measured path: if no fault waits
// for an event it costs an addition.
type moments struct {
	chaos.Events
	clients int
	awaited []awaited
	waiting atomic.Int64
	granted atomic.Int64
}

type awaited struct {
	event
	text  string
	fired *atomic.Bool
}

// newMoments prepares the events that the planned faults wait for.
func newMoments(faults []plannedFault, clients int) *moments {
	m := &moments{clients: clients}
	for _, f := range faults {
		if e, err := parseEvent(f.On); err == nil && e.kind != "" {
			m.awaited = append(m.awaited, awaited{e, f.On, new(atomic.Bool)})
		}
	}
	return m
}

func (m *moments) acquiring() {
	if m == nil {
		return
	}
	n := m.waiting.Add(1)
	for _, a := range m.awaited {
		if a.kind == wait && int(n)*100 >= a.n*m.clients {
			m.fire(a)
		}
	}
}

func (m *moments) acquired(n int, ok bool) {
	if m == nil {
		return
	}
	m.waiting.Add(-1)
	if !ok {
		return
	}
	k := m.granted.Add(1)
	for _, a := range m.awaited {
		if a.kind == firstGrant || a.kind == holds && a.n == n || a.kind == grants && k >= int64(a.n) {
			m.fire(a)
		}
	}
}

func (m *moments) fire(a awaited) {
	if a.fired.CompareAndSwap(false, true) {
		m.Fire(a.text)
	}
}
