package plot

import (
	"math"
)

// slope is a fitted line through logarithms, y = c * x^slope.
type slope struct{ slope, low, high float64 } // low and high bound 95 %

// fitLogLog fits by least squares. It is false below three different x, where
// there is no interval to give.
func fitLogLog(pts []xy) (slope, bool) {
	distinct := map[float64]bool{}
	var n, sx, sy float64
	for _, p := range pts {
		if p.x <= 0 || p.y <= 0 {
			return slope{}, false
		}
		distinct[p.x] = true
		n, sx, sy = n+1, sx+math.Log(p.x), sy+math.Log(p.y)
	}
	if len(distinct) < 3 {
		return slope{}, false
	}
	mx, my := sx/n, sy/n
	var sxx, sxy float64
	for _, p := range pts {
		dx := math.Log(p.x) - mx
		sxx, sxy = sxx+dx*dx, sxy+dx*(math.Log(p.y)-my)
	}
	b := sxy / sxx
	var rest float64
	for _, p := range pts {
		r := math.Log(p.y) - my - b*(math.Log(p.x)-mx)
		rest += r * r
	}
	half := student95(int(n)-2) * math.Sqrt(rest/(n-2)/sxx)
	return slope{b, b - half, b + half}, true
}

// student95 is the two-sided 95 % quantile of Student's t distribution.
func student95(freedom int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
		2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}
	switch {
	case freedom < 1:
		return math.Inf(1)
	case freedom <= len(table):
		return table[freedom-1]
	}
	// The first terms of the expansion around the normal quantile z.
	const z = 1.959964
	n := float64(freedom)
	return z + (z*z*z+z)/(4*n) + (5*z*z*z*z*z+16*z*z*z+3*z)/(96*n*n)
}
