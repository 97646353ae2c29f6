package text

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// annotationLimit bounds how many annotations are written: GitHub shows ten of a
// kind and drops the rest.
const annotationLimit = 10

// Annotations lists what did not pass as GitHub workflow commands, one a line: an
// error for what was broken, a warning for what could not be judged.
func Annotations(r report.Result) []string {
	var out []string
	for _, kind := range []struct {
		name string
		fail bool
	}{{"error", true}, {"warning", false}} {
		for i, f := range findings(r.Trials, kind.fail) {
			if i == annotationLimit {
				break
			}
			message := units.Clean(f.what) + " in " + f.where
			if f.reason != "" {
				message += ": " + units.Short(units.Clean(f.reason), 300)
			}
			out = append(out, fmt.Sprintf("::%s title=%s::%s", kind.name, property("zkbench "+units.Clean(r.Run.Scenario)), data(message)))
		}
	}
	for _, s := range doubtWords(r) {
		out = append(out, fmt.Sprintf("::warning title=%s::%s", property("zkbench "+units.Clean(r.Run.Scenario)), data(s)))
	}
	return out
}

// data escapes a workflow command's message, property one of its properties.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
