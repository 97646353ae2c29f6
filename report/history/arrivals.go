package history

import "time"

// Arrivals is the rate at which operations are due in an open loop. It is recorded before the first
// of them is due.
type Arrivals struct {
	At    time.Duration `json:"at"` // from when on they are due
	Phase string        `json:"phase"`
	For   time.Duration `json:"for"`
	Rate  float64       `json:"rate"` // per second; for a ramp, at its beginning
	// RateTo is the rate at the end of a ramp; 0: the rate is constant. Steps is the number of
	// equal steps of the ramp; 0: continuous.
	RateTo float64 `json:"rate_to,omitempty"`
	Steps  int     `json:"steps,omitempty"`
}

// Ramp reports whether the rate increases.
func (a *Arrivals) Ramp() bool { return a != nil && a.RateTo > 0 }

// RateAt returns the rate per second at that time after the beginning.
func (a *Arrivals) RateAt(since time.Duration) float64 {
	if !a.Ramp() || a.For <= 0 {
		return a.Rate
	}
	part := min(max(since.Seconds()/a.For.Seconds(), 0), 1)
	if a.Steps > 1 {
		part = float64(min(int(part*float64(a.Steps)), a.Steps-1)) / float64(a.Steps-1)
	}
	return a.Rate + part*(a.RateTo-a.Rate)
}
