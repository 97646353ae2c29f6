package explain

import (
	"testing"
	"time"
)

// Time runs one way from edge to edge, with room around every stop, however near they are.
func TestChart_shareHasRoomForEveryStop(t *testing.T) {
	c := Chart{From: time.Second, To: 11 * time.Second, EventTimes: []time.Duration{1001 * time.Millisecond, 1002 * time.Millisecond, 10 * time.Second}}
	if c.Position(c.From) != 0 || c.Position(c.To) != 1 || c.Position(0) != 0 || c.Position(time.Minute) != 1 {
		t.Errorf("the edges are at %v and %v", c.Position(c.From), c.Position(c.To))
	}
	before := 0.0
	for _, at := range append(c.EventTimes, c.To) {
		share := c.Position(at)
		if share-before < 0.12 { // half of the room is shared alike by four gaps
			t.Errorf("%v is at %.3f, the one before it at %.3f", at, share, before)
		}
		before = share
	}
	if half := (Chart{From: 0, To: 10}).Position(5); half != 0.5 {
		t.Errorf("without stops time is even, and the middle is at %v", half)
	}
}

func TestChart_bothIsWhereTwoLanesHold(t *testing.T) {
	c := Chart{From: 0, To: 100}
	c.Add(1, 0, 40, HoldBar)
	c.Add(2, 30, 60, HoldBar)
	c.Add(3, 60, 90, HoldBar)
	c.Add(4, 0, 100, WaitBar)
	c.findOverlaps()
	if len(c.Overlaps) != 1 || c.Overlaps[0].From != 30 || c.Overlaps[0].To != 40 {
		t.Errorf("two hold from 30 to 40: %+v", c.Overlaps)
	}
}
