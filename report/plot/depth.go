package plot

// depthPoints bounds the corners of one line: more than there are pixels only make
// the page slow.
const depthPoints = 1200

// QueueDepth plots how many items wait, over shaded fault windows. It is nil when
// there are none.
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
	f := t.overTime("depth", "Items that wait", "How many items are due and not taken, and how many of them are in the queue; the rest the producers have not been able to put.",
		due[0].x, due[len(due)-1].x)
	axisFromZero(&f.body.Y, float64(most), 1)
	f.yTitle = "items"
	f.data.y = "items"
	f.data.add("due and not taken", due)
	f.data.add("in the queue", queued)
	f.stairs("due and not taken", palette[1], thin(due, depthPoints))
	f.stairs("in the queue", palette[0], thin(queued, depthPoints))
	return f
}
