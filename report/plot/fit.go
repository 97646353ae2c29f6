package plot

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// slope is the exponent of the fitted curve y = c * x^slope, with its 95 % confidence interval.
type slope struct{ slope, low, high float64 }

// fitLogLog fits by least squares. It returns false if there are fewer than three different x,
// because there is no interval then.
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

// student95 returns the two-sided 95 % quantile of Student's t distribution.
func student95(freedom int) float64 {
	if freedom < 1 {
		return math.Inf(1)
	}
	return stats.InvCDF(stats.TDist{V: float64(freedom)})(0.975)
}
