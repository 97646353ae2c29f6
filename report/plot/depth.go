package plot

// depthPoints is the largest number of points of a line: more points than pixels only make the
// page slow.
const depthPoints = 1200

// QueueDepth plots the number of waiting items, with shaded fault windows. It returns nil if
// there is no data.
func QueueDepth(t Timeline) *Figure {
	if len(t.Depth) == 0 {
		return nil
	}
	var queued, due []xy
	most := 1
	for _, p := range t.Depth {
		queued, due = append(queued, xy{seconds(p.At), float64(p.Queued)}), append(due, xy{seconds(p.At), float64(p.Due)})
		most = max(most, p.Queued, p.Due)
	}
	f := t.overTime("depth", "Waiting items", "The number of items that are due and not taken, and how many of them are in the queue; the producers have not put the rest yet.",
		due[0].x, due[len(due)-1].x)
	axisFromZero(&f.body.Y, float64(most), 1)
	f.yTitle = "items"
	f.data.y = "items"
	f.data.add("due and not taken", due)
	f.data.add("in the queue", queued)
	f.addSteps("due and not taken", palette[1], thin(due, depthPoints))
	f.addSteps("in the queue", palette[0], thin(queued, depthPoints))
	return f
}
