package text

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// The parts of a JUnit file that CI systems agree on.
type (
	junitRun struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Timestamp string      `xml:"timestamp,attr,omitempty"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Failure *junitWords `xml:"failure"`
		Error   *junitWords `xml:"error"`
		Skipped *junitWords `xml:"skipped"`
	}
	junitWords struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes junit.xml: a suite for each trial, in it a case for each verdict
// and each threshold. Repetitions of a cell are one suite, with the worst of each.
//
// In a zoo the class and the name of a case say what provoked it, since the same
// subject is provoked in many ways; of a subject that is broken on purpose there is
// only one case: was it caught?
//
// A broken one is a failure. An unknown one is an error, not skipped: CI systems
// show skipped in green, and unknown is never a pass. Skipped is only a fault that
// this machine cannot inject (its error begins with "skipped"); a fault that was
// injected without a proven effect is an error. A trial without any verdict, and
// a run that ended early, are errors too.
func JUnit(w io.Writer, r report.Result) error {
	out := junitRun{Name: "zkbench " + units.Clean(r.Run.Scenario), Time: fmt.Sprintf("%.3f", r.Run.Elapsed.Seconds())}
	for _, t := range InOrder(r.Trials) {
		s := suite(t)
		if !r.Run.Start.IsZero() {
			s.Timestamp = r.Run.Start.UTC().Format("2006-01-02T15:04:05")
		}
		out.add(s)
	}
	if r.Run.Ended != "" || len(r.Trials) == 0 {
		reason := r.Run.Ended
		if reason == "" {
			reason = "no trial was run"
		}
		s := junitSuite{Name: "run"}
		s.add(junitCase{Class: "zkbench", Name: "the run was completed", Error: words(reason)})
		out.add(s)
	}
	body, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("junit.xml: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, body)
	return err
}

func suite(t report.Trial) junitSuite {
	s := junitSuite{Name: units.Clean(t.Name)}
	class := strings.ReplaceAll(units.Clean(fmt.Sprintf("%s.%s.%d", t.Scenario, t.Subject, t.Clients)), " ", "_")
	judged := func(what, result, reason string) {
		if t.Provocation != "" {
			what += ", provoked by " + t.Provocation
		}
		s.add(judgedCase(class, what, result, reason))
	}
	if len(t.Expect) > 0 {
		judged("caught by "+list(t.Expect), t.Caught(), "not caught by "+list(t.Missed())+": "+overlooked(t))
		return s
	}
	for _, v := range t.Verdicts {
		judged(v.Guarantee, v.Result, strings.Join(v.Reasons, "\n"))
	}
	for _, h := range t.Thresholds {
		judged(h.Expr, h.Result, measured(h))
	}
	if len(t.Verdicts) == 0 {
		judged("judged", report.Unknown, "no guarantee was judged")
	}
	for _, f := range t.Faults {
		if f.Proof != "" {
			continue
		}
		k := junitCase{Class: class, Name: units.Clean(fmt.Sprintf("fault %s on %s at %s", f.Fault, f.Target, f.Start.Round(time.Millisecond)))}
		if f.Skipped() {
			k.Skipped = words(f.Err)
		} else {
			k.Error = words(cmp.Or(f.Err, "no proven effect"))
		}
		s.add(k)
	}
	return s
}

func judgedCase(class, name, result, reason string) junitCase {
	k := junitCase{Class: class, Name: units.Clean(name)}
	switch result {
	case report.Pass:
	case report.Fail:
		k.Failure = words(reason)
	default:
		k.Error = words("unknown: " + reason)
	}
	return k
}

func words(s string) *junitWords {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = units.Clean(lines[i])
	}
	return &junitWords{Message: units.Short(lines[0], 200), Text: strings.Join(lines, "\n")}
}

func (s *junitSuite) add(k junitCase) {
	s.Cases = append(s.Cases, k)
	s.Tests++
	switch {
	case k.Failure != nil:
		s.Failures++
	case k.Error != nil:
		s.Errors++
	case k.Skipped != nil:
		s.Skipped++
	}
}

func (r *junitRun) add(s junitSuite) {
	r.Suites = append(r.Suites, s)
	r.Tests += s.Tests
	r.Failures += s.Failures
	r.Errors += s.Errors
	r.Skipped += s.Skipped
}
