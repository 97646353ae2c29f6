package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func init() {
	addKind(kind{
		name:   episodeKind,
		about:  "three clients wait in line and each hold once; every step is tested against every applicable fault, one per episode",
		pace:   history.ByHarness,
		fields: []string{"cells", "depth", "duration"},
		validate: func(p *Phase, bad problemFunc) {
			between(bad, "depth", p.Depth, 0, 2)
			if (p.Depth == 2) != (p.Duration > 0) {
				bad("duration", "sets the time for pairs of faults: it requires depth: 2, and is required there")
			}
			if p.Depth == 2 && len(p.Cells) > 0 {
				bad("cells", "selects the cells; remove depth")
			}
			for i, name := range p.Cells {
				if _, err := parseCell(name); err != nil {
					bad(fmt.Sprintf("cells.%d", i), "%v", err)
				}
			}
		},
		tooFew: func(_ *Phase, clients int) string {
			if clients != episodeClients {
				return fmt.Sprintf("an episode has %d clients", episodeClients)
			}
			return ""
		},
		effort: func(*Phase, int) time.Duration { return 0 },
		run:    playCell,
	})
}

// playCell runs the trial's cell, lets every client have a turn, and takes a snapshot.
func playCell(ctx context.Context, st *stage) error {
	what, err := parseCell(st.cell.Provocation)
	if err != nil {
		return err
	}
	limit := provokeLimit + 4*st.scenario.SessionTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	if what.fits != nil && !what.fits(st.cell.Subject) {
		return fmt.Errorf("%w: %s declares no variant", errInapplicable, st.cell.Subject.Name)
	}
	p := newProvoked(ctx, st)
	defer p.callOff()
	st.report("%s", what.name)
	if err := p.play(what.run); err != nil {
		return fmt.Errorf("%s: %w", what.name, reason(ctx, err))
	}
	if st.queue() {
		return nil
	}
	if stuck := p.everybody(); stuck {
		if err := st.snapshot(ctx, stuckFor); err != nil {
			return err
		}
	}
	p.callOff()
	return st.snapshotIdle(ctx)
}
