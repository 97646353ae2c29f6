package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Every color is opaque, because gonum writes transparent colors as invalid SVG. The page
// replaces them by value for dark mode, so that each role needs a distinct value.
var (
	paper          = color.RGBA{0xff, 0xff, 0xff, 0xff}
	ink            = color.RGBA{0x1f, 0x23, 0x28, 0xff}
	faint          = color.RGBA{0x59, 0x63, 0x6e, 0xff}
	grid           = color.RGBA{0xe4, 0xe7, 0xeb, 0xff}
	faultColor     = color.RGBA{0xfb, 0xe6, 0xc8, 0xff} // an active fault
	unprovenColor  = color.RGBA{0xe9, 0xe4, 0xf2, 0xff} // a fault without proof
	violationColor = color.RGBA{0xc8, 0x10, 0x2e, 0xff} // two holders at the same time
)

// Okabe and Ito's palette for color-blind readers, darkest first, without yellow, which is
// unreadable on white.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermillion
	{0x00, 0x9e, 0x73, 0xff}, // green
	{0xcc, 0x79, 0xa7, 0xff}, // purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky
	{0x33, 0x3a, 0x42, 0xff}, // near black
}

// Dark maps each color of a plot, as in its SVG, to the color for dark mode. The style sheet of
// the page is generated from it.
var Dark = map[string]string{
	hex(paper): "#0d1117", hex(ink): "#e6edf3", hex(faint): "#9aa4af", hex(grid): "#2b323b",
	hex(faultColor): "#4a3a1f", hex(unprovenColor): "#383050", hex(violationColor): "#ff5c6c",
	hex(palette[0]): "#4aa8e8", hex(palette[1]): "#ff8a3d", hex(palette[2]): "#2fc79b",
	hex(palette[3]): "#e29bc6", hex(palette[4]): "#f5b83d", hex(palette[5]): "#8fd0f5",
	hex(palette[6]): "#c9d1d9", hex(predictedColor): "#1c3550",
}

type glyph struct {
	color color.RGBA
	shape shape
}

// Glyphs maps each label to its glyph, which is the same in all plots.
type Glyphs map[string]glyph

// NewGlyphs assigns glyphs to labels in their order. Colors and shapes repeat with different
// periods, so that their pairs repeat only after 35 series.
func NewGlyphs(labels []string) Glyphs {
	l := Glyphs{}
	for _, label := range labels {
		if _, known := l[label]; !known {
			n := len(l)
			l[label] = glyph{color: palette[n%len(palette)], shape: shape(n % int(shapes))}
		}
	}
	return l
}

func (l Glyphs) of(label string) glyph {
	if v, ok := l[label]; ok {
		return v
	}
	return glyph{color: palette[0]}
}

// Sizes in points. A plot is 640 points wide, so that one point is about one pixel of a page
// with two plots next to each other.
const (
	width      = vg.Length(640)
	height     = vg.Length(370)
	margin     = vg.Length(14)
	titleSize  = vg.Length(15)
	textSize   = vg.Length(13)
	smallSize  = vg.Length(12)
	glyphSize  = vg.Length(4)
	lineWidth  = vg.Length(1.6)
	resolution = 144 // dots per inch of a PNG: 1280 pixels wide
)

func typeface(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		XAlign: draw.XLeft, YAlign: draw.YBottom, Handler: plot.DefaultTextHandler,
	}
}

func stroke(c color.Color, w vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w}
}

func dashed(c color.Color, w vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w, Dashes: []vg.Length{5, 4}}
}

func hex(c color.RGBA) string {
	return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
}

type xy struct{ x, y float64 }

type shape int

// The shapes, in the order in which series use them.
const (
	circle shape = iota
	square
	triangle
	diamond
	cross
	shapes // the number of shapes
)

func (s shape) path(p vg.Path, pt vg.Point, r vg.Length) vg.Path {
	at := func(dx, dy vg.Length) vg.Point { return vg.Point{X: pt.X + dx*r, Y: pt.Y + dy*r} }
	var corners []vg.Point
	switch s {
	case square:
		corners = []vg.Point{at(-.9, -.9), at(.9, -.9), at(.9, .9), at(-.9, .9)}
	case triangle:
		corners = []vg.Point{at(-1.1, -.8), at(1.1, -.8), at(0, 1.2)}
	case diamond:
		corners = []vg.Point{at(0, -1.3), at(1.1, 0), at(0, 1.3), at(-1.1, 0)}
	case cross:
		corners = []vg.Point{at(-.4, -1.2), at(.4, -1.2), at(.4, -.4), at(1.2, -.4), at(1.2, .4), at(.4, .4),
			at(.4, 1.2), at(-.4, 1.2), at(-.4, .4), at(-1.2, .4), at(-1.2, -.4), at(-.4, -.4)}
	default:
		p.Move(at(1, 0))
		p.Arc(pt, r, 0, 2*math.Pi)
		p.Close()
		return p
	}
	p.Move(corners[0])
	for _, c := range corners[1:] {
		p.Line(c)
	}
	p.Close()
	return p
}

// points renders glyphs, all in one path: one path per glyph makes a large, slow SVG.
type points struct {
	at    []xy
	glyph glyph
	size  vg.Length
	shift vg.Length // horizontal, so that series at the same x do not overlap
}

func (m points) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	var path vg.Path
	for _, q := range m.at {
		path = m.glyph.shape.path(path, vg.Point{X: tx(q.x) + m.shift, Y: ty(q.y)}, m.size)
	}
	if len(path) > 0 {
		c.SetColor(m.glyph.color)
		c.Fill(path)
	}
}

type line struct {
	at    []xy
	style draw.LineStyle
	shift vg.Length
}

func (m line) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	pts := make([]vg.Point, len(m.at))
	for i, q := range m.at {
		pts[i] = vg.Point{X: tx(q.x) + m.shift, Y: ty(q.y)}
	}
	switch len(pts) {
	case 0:
	case 1: // a dash, for a line of one point
		c.StrokeLine2(m.style, pts[0].X-18, pts[0].Y, pts[0].X+18, pts[0].Y)
	default:
		c.StrokeLines(m.style, pts)
	}
}

// whiskers renders a vertical line from low to high at each x, with a cap on top.
type whiskers struct {
	low, high       []xy
	lowest, highest string // names of the ends in the data; empty if they are not in the data
	color           color.Color
	shift           vg.Length
}

func (m *whiskers) add(x, low, high float64) {
	m.low, m.high = append(m.low, xy{x, low}), append(m.high, xy{x, high})
}

func (m whiskers) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	sty := stroke(m.color, 1.2)
	for i, end := range m.high {
		x, low, high := tx(end.x)+m.shift, ty(m.low[i].y), ty(end.y)
		c.StrokeLine2(sty, x, low, x, high)
		c.StrokeLine2(sty, x-4, high, x+4, high)
	}
}

// verticalGrid returns lines at the labelled ticks of the x axis, and horizontalGrid at those of the y axis.
func verticalGrid() *plotter.Grid { return &plotter.Grid{Vertical: stroke(grid, 0.8)} }

func horizontalGrid() *plotter.Grid { return &plotter.Grid{Horizontal: stroke(grid, 0.8)} }

type bar struct {
	from, to, y float64
	half        float64   // of its height
	shortest    vg.Length // length that keeps very short bars visible
	color       color.RGBA
}

func (m bar) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	from := tx(m.from)
	fillBox(c, m.color, from, ty(m.y-m.half), max(tx(m.to), from+m.shortest), ty(m.y+m.half))
}

type band struct {
	from, to float64
	label    string
	proven   bool
}

func bandsOf(faults []report.Fault) []band {
	var out []band
	for _, w := range faults {
		label := w.Fault
		if w.Target != "" {
			label += " " + w.Target
		}
		out = append(out, band{from: seconds(w.Start), to: max(seconds(w.End), seconds(w.Start)),
			label: units.Truncate(units.Clean(label), 40), proven: w.Proof != ""})
	}
	slices.SortStableFunc(out, func(a, b band) int { return cmp.Compare(a.from, b.from) })
	return out
}

// shading renders the bands. It must be added first, so that it is behind everything else.
type shading []band

func (m shading) Plot(c draw.Canvas, p *plot.Plot) {
	tx, _ := p.Transforms(&c)
	for _, b := range m {
		from, to := clampX(tx, b.from, c), clampX(tx, b.to, c)
		color := unprovenColor
		if b.proven {
			color = faultColor
		}
		fillBox(c, color, from, c.Min.Y, max(to, from+2), c.Max.Y) // keep very short faults visible
	}
}

func clampX(tx func(float64) vg.Length, x float64, c draw.Canvas) vg.Length {
	v := tx(x)
	if math.IsNaN(float64(v)) {
		return c.Min.X
	}
	return min(max(v, c.Min.X), c.Max.X)
}

func fillBox(c draw.Canvas, color color.Color, x0, y0, x1, y1 vg.Length) {
	c.SetColor(color)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

const maxBandRows = 3

// drawBandLabels writes each label above the start of its band, in the lowest row that has room, if any.
func drawBandLabels(c draw.Canvas, p *plot.Plot, bands []band, rows int) {
	sty := typeface(smallSize-1, faint)
	tx, _ := p.Transforms(&c)
	busy := make([]vg.Length, rows)
	for i := range busy {
		busy[i] = vg.Length(math.Inf(-1))
	}
	for _, b := range bands {
		w := sty.Width(b.label)
		x := min(clampX(tx, b.from, c), c.Max.X-w)
		for row := range busy {
			if x < busy[row]+8 || x < c.Min.X {
				continue
			}
			y := c.Max.Y + 4 + vg.Length(row)*(smallSize+4)
			c.FillText(sty, vg.Point{X: x, Y: y}, b.label)
			busy[row] = x + w
			break
		}
	}
}

// logScale is a logarithmic axis that never panics; gonum's panics on values <= 0. Such values
// are filtered out before; this is a safeguard, so that a bug does not prevent the whole file.
type logScale struct{}

func (logScale) Normalize(low, high, x float64) float64 {
	if low <= 0 || high <= low || x <= 0 {
		return 0
	}
	return math.Log(x/low) / math.Log(high/low)
}

// logAxis makes an axis logarithmic over the positive values. write formats the tick labels.
func logAxis(a *plot.Axis, values []float64, write func(float64) string) {
	low, high := span(values)
	low, high = low/1.25, high*1.25
	if high/low < 4 { // a single value still needs two labelled ticks around it
		mid := math.Sqrt(low * high)
		low, high = mid/2.2, mid*2.2
	}
	a.Min, a.Max, a.Scale = low, high, logScale{}
	a.Tick.Marker = logTicks(low, high, write)
}

// logTicks labels powers of ten, and also 2 and 5 if there is room.
func logTicks(low, high float64, write func(float64) string) plot.ConstantTicks {
	decades := math.Log10(high / low)
	every := max(1, int(math.Ceil(decades/8)))
	first := int(math.Floor(math.Log10(low)))
	slack := (high - low) * 1e-9
	var out plot.ConstantTicks
	for e := first; float64(e) <= math.Log10(high); e++ {
		for m := 1; m <= 9; m++ {
			t := plot.Tick{Value: float64(m) * math.Pow10(e)}
			labelled := m == 1 && (e-first)%every == 0 || decades < 3 && (m == 2 || m == 5)
			if labelled {
				t.Label = write(t.Value)
			}
			if (labelled || every == 1) && t.Value >= low-slack && t.Value <= high+slack {
				out = append(out, t)
			}
		}
	}
	return out
}

func countAxis(a *plot.Axis, counts []int) {
	values := make([]float64, len(counts))
	for i, n := range counts {
		values[i] = float64(n)
	}
	low, high := span(values)
	pad := math.Max(math.Pow(high/low, 0.06), 1.08)
	a.Min, a.Max, a.Scale = low/pad, high*pad, logScale{}
	a.Tick.Marker = countTicks(values, a.Min, a.Max)
}

// countTicks labels as many counts as fit without overlap, always including the largest.
func countTicks(values []float64, low, high float64) plot.ConstantTicks {
	const room = 520 // approximate length of the axis in points
	sty := typeface(smallSize, ink)
	var out plot.ConstantTicks
	edge := vg.Length(math.Inf(1))
	for _, v := range slices.Backward(values) {
		if v <= 0 {
			continue
		}
		label := units.Number(v)
		mid, half := vg.Length(room*logScale{}.Normalize(low, high, v)), sty.Width(label)/2+4
		if mid+half > edge {
			label = ""
		} else {
			edge = mid - half
		}
		out = append(out, plot.Tick{Value: v, Label: label})
	}
	slices.Reverse(out)
	return out
}

func secondsAxis(a *plot.Axis, from, to float64) {
	if !(to > from) {
		from, to = from-0.5, from+0.5
	}
	a.Min, a.Max = from, to
	a.Label.Text = "seconds since the start of the run"
	step := niceStep((to - from) / 8)
	a.Tick.Marker = linearTicks(from, to, step, func(v float64) string { return formatStep(v, step) })
}

// axisFromZero makes an axis linear from 0, with labels at least step apart.
func axisFromZero(a *plot.Axis, most, step float64) {
	a.Min, a.Max = 0, most*1.05
	a.Tick.Marker = linearTicks(0, a.Max, max(step, niceStep(most/6)), units.TickNumber)
}

func linearTicks(low, high, step float64, write func(float64) string) plot.ConstantTicks {
	var out plot.ConstantTicks
	for k := math.Ceil(low / step); k*step <= high; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: write(k * step)})
	}
	return out
}

func formatStep(v, step float64) string {
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	return formatFixed(v, decimals)
}

func niceStep(v float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*base*(1+1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// span returns the lowest and the highest positive value, or 1 and 10 if there is none.
func span(values []float64) (low, high float64) {
	for _, v := range values {
		if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if low == 0 || v < low {
			low = v
		}
		high = math.Max(high, v)
	}
	if low == 0 {
		return 1, 10
	}
	return low, high
}
