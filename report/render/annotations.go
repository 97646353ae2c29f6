package render

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// annotationLimit bounds the annotations of a kind: GitHub shows ten and drops the rest.
const annotationLimit = 10

// Annotations lists what did not pass as GitHub workflow commands, one a line: an error
// for what was broken, a warning for what could not be judged.
func Annotations(v *view.View) []string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	var out []string
	for _, kind := range []struct {
		name string
		of   view.Kind
	}{{"error", view.Broken}, {"warning", view.Open}, {"warning", view.Doubt}} {
		all := v.Of(kind.of)
		for _, f := range all[:min(len(all), annotationLimit)] {
			f.Why = units.Short(units.Clean(f.Why), 300)
			out = append(out, fmt.Sprintf("::%s title=%s::%s", kind.name, property.Replace("zkbench "+units.Clean(v.Name)), data.Replace(units.Clean(f.String()))))
		}
	}
	return out
}
