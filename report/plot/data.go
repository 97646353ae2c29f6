package plot

import (
	"bytes"
	"encoding/csv"
	"strconv"
)

// data is what a figure shows, in numbers: its columns after that of the series, and the
// points of each series, in the order in which they were drawn.
type data struct {
	x, y   string // heads of the columns, with their units
	series []series
}

// series is the points of one of them; all that there are, also where the figure draws
// only some.
type series struct {
	name string
	at   []xy
}

func (d *data) add(name string, at []xy) {
	if len(at) > 0 {
		d.series = append(d.series, series{name, at})
	}
}

// CSV returns the figure's numbers: a line a point, with its series, x and y. The heads
// name the units.
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
