package plot

import (
	"bytes"
	"encoding/csv"
	"strconv"
)

// data contains the numbers of a figure: the columns after the name of the series, and the
// points of each series.
type data struct {
	x, y   string // heads of the columns, with their units
	series []series
}

// series contains all points of one series, even if the figure shows only some.
type series struct {
	name string
	at   []xy
}

func (d *data) add(name string, at []xy) {
	if len(at) > 0 {
		d.series = append(d.series, series{name, at})
	}
}

// CSV returns the figure's numbers: a line per point, with its series, x and y. The column heads
// include the units.
func (f *Figure) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	err := w.Write([]string{"series", f.data.x, f.data.y})
	for _, s := range f.data.series {
		for _, q := range s.at {
			if err == nil {
				err = w.Write([]string{s.name, number(q.x), number(q.y)})
			}
		}
	}
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return b.Bytes(), err
}
