package html

import (
	"time"

	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/units"
)

// story is a failed verdict as the page tells it.
type story struct {
	explain.Story
	Title  string
	Open   bool
	Height int
	Lanes  []storyLane
}

type storyLane struct {
	Name   string
	Y, Mid int
	Bars   []storyBar
}

// storyBar is a bar in the units of the drawing, which is storyWidth wide.
type storyBar struct {
	X, W float64
	Y    int
	Kind string
}

const (
	storyWidth = 1000 // with storyLabel of it for the names
	storyLabel = 110
	laneHeight = 26
)

// openStories is how many stories are unfolded when the page is opened.
const openStories = 3

func stories(all []explain.Story) []story {
	var out []story
	for i, s := range all {
		v := story{Story: s, Title: s.Title(), Open: i < openStories, Height: laneHeight*len(s.Lanes) + 4}
		for k, l := range s.Lanes {
			lane := storyLane{Name: units.Clean(l.Name), Y: laneHeight*k + 4, Mid: laneHeight*k + 18}
			for _, kind := range []string{explain.Waited, explain.Held, explain.Fault} {
				for _, b := range l.Bars {
					if b.Kind == kind {
						x := place(s, b.From)
						lane.Bars = append(lane.Bars, storyBar{x, max(place(s, b.To)-x, 1.5), lane.Y, kind})
					}
				}
			}
			v.Lanes = append(v.Lanes, lane)
		}
		out = append(out, v)
	}
	return out
}

func place(s explain.Story, t time.Duration) float64 {
	if s.To <= s.From {
		return storyLabel
	}
	return storyLabel + float64(t-s.From)/float64(s.To-s.From)*(storyWidth-storyLabel)
}

func seconds(t time.Duration) string { return units.Duration(float64(t)) }
