package render

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// annotationLimit is the largest number of annotations of a kind: GitHub shows ten.
const annotationLimit = 10

// Annotations returns GitHub workflow commands for the findings that did not pass: an error for
// each broken check, and a warning for each unknown one.
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
