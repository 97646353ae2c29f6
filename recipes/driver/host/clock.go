package host

import (
	"time"

	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// keepTime reads the driver's clock until the conversation ends.
func (p *Process) keepTime() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if p.askClock() != nil {
				return
			}
		case <-p.broken:
			return
		}
	}
}

func (p *Process) askClock() error {
	watch := p.halts.stopwatch()
	before := clock.Monotonic()
	a, c, err := p.ask(lines.Request{Op: "clock"}, clockLimit, nil)
	after := clock.Monotonic()
	if err != nil {
		return err
	}
	if a.OK == nil || a.OK.Now == nil {
		err := p.breach("", "clock is answered with now, the driver's monotonic clock in ns")
		p.fail(err)
		return err
	}
	if watch.met() {
		return nil // it would measure the pause
	}
	p.clock.Add(clock.Trip{Sent: c.wrote, Got: c.read, Before: before, After: after, Now: int64(*a.OK.Now)})
	return nil
}

// Overhead returns p50 and p99 of the clock's round trips.
func (p *Process) Overhead() (p50, p99 time.Duration) { return clock.Percentiles(p.clock.Trips()) }

// MeasureClock reads the driver's clock that many times.
func (p *Process) MeasureClock(times int) error {
	for range times {
		if err := p.askClock(); err != nil {
			return err
		}
	}
	return nil
}

// ClockIs describes the mapping of the driver's clock.
func (p *Process) ClockIs() string { return p.clock.About() }
