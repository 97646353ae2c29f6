package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Event is the event from which the time of a fault is counted.
type Event struct {
	Kind string // AfterFirstGrant, WhenHolding, WhenWaiting or AfterGrants
	N    int    // the client, the share in percent, or the number of grants
}

// The forms of an event in a scenario.
const (
	AfterFirstGrant = "first grant"
	WhenHolding     = "client N holds"
	WhenWaiting     = "N% wait"
	AfterGrants     = "N grants"
)

var eventForms = []struct {
	kind string
	form *regexp.Regexp
}{
	{WhenHolding, regexp.MustCompile(`^client (\d{1,6}) holds$`)},
	{WhenWaiting, regexp.MustCompile(`^(\d{1,3}) ?% wait$`)},
	{AfterGrants, regexp.MustCompile(`^(\d{1,9}) grants$`)},
}

// ParseEvent parses an event: "first grant"; "client 3 holds", when client 3 becomes the holder;
// "50% wait", when half of the clients wait in acquire; or "100 grants", after 100 grants since the
// start of the phase. Each event occurs at most once in a phase.
func ParseEvent(text string) (Event, error) {
	if text == "" || text == AfterFirstGrant {
		return Event{Kind: text, N: 1}, nil
	}
	for _, f := range eventForms {
		if m := f.form.FindStringSubmatch(text); m != nil {
			n, err := strconv.Atoi(m[1])
			if f.kind == WhenWaiting && (n < 1 || n > 100) || f.kind == AfterGrants && n < 1 {
				break
			}
			return Event{f.kind, n}, err
		}
	}
	return Event{}, fmt.Errorf("%q is not an event; the events are %s", text, strings.Join([]string{AfterFirstGrant, `"client 3 holds"`, `"50% wait"`, `"100 grants"`}, ", "))
}
