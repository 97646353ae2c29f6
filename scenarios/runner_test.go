package scenarios

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// A second try takes no failure back.
func TestRunner_playsNoTrialAgainThatHasBrokenAGuarantee(t *testing.T) {
	r := runner{Config: Config{Logf: noLog, Dir: t.TempDir()}}
	for name, again := range map[string]bool{"sound": true, "broken": false} {
		path := report.HistoryPath(r.Dir, name)
		w := create(t, path)
		for client := range 2 {
			at := time.Duration(client)
			if again {
				at *= time.Minute
			}
			grant := history.Sample{Client: client, Op: history.Acquire, Call: at, Return: at, Outcome: history.OK, Token: int64(client + 1), Session: int64(client + 7), Path: "/n"}
			release := grant
			release.Op, release.Call, release.Return = history.Release, at+time.Second, at+time.Second
			w.Sample(grant)
			w.Sample(release)
		}
		must(t, w.Close())
		got, err := r.prepareRetry(name)
		if _, gone := os.Stat(path); err != nil || got != again || (gone == nil) == again {
			t.Errorf("%s: again %v, %v; its history: %v", name, got, err, gone)
		}
	}
}

// Whatever runs beside it, a trial reports itself: its subject, its number, and
// its end, once.
func TestRunner_eachTrialReportsItself(t *testing.T) {
	for _, row := range []struct {
		about, text string
		beside      bool
	}{
		{"trials that take turns", `{name: reported, subjects: [lock/go-zookeeper, lock/predecessor], base: lock/go-zookeeper,
			clients: [3], trials: 2, session_timeout: 4s, phases: [{name: drain, kind: drain, rounds: 20, hold: 1ms}]}`, true},
		{"specimens of a zoo", `{name: reported, session_timeout: 4s, phases: [{name: episode, kind: episode, hold: 20ms}], specimens: [
			{subject: zoo/spin-lock, cell: all/crowd, caught: [busy-loop]}, {subject: zoo/herd-lock, cell: all/line, caught: [fan-out]},
			{subject: lock/parent, cell: all/line}, {subject: lock/predecessor, cell: all/line}]}`, false},
	} {
		t.Run(row.about, func(t *testing.T) {
			var mu sync.Mutex
			reports := map[int][]stage.Status{} // by the trial's number, in order
			r := newRunner(t)
			r.Progress = func(s stage.Status) {
				mu.Lock()
				defer mu.Unlock()
				reports[s.Trial] = append(reports[s.Trial], s)
			}
			r.play(t, row.text)
			batches, err := load(t, row.text).Batches()
			must(t, err)
			cells := batches[0].Cells
			if len(reports) != len(cells) {
				t.Errorf("%d trials reported, want %d", len(reports), len(cells))
			}
			for i, cell := range cells {
				all := reports[i+1]
				if len(all) < 2 {
					t.Fatalf("trial %d reported %d times, want more", i+1, len(all))
				}
				last := all[len(all)-1]
				for k, s := range all {
					if s.Subject != cell.Subject.Name || s.Trials != len(cells) {
						t.Errorf("trial %d of %d is of %s, want %d of %s", i+1, s.Trials, s.Subject, len(cells), cell.Subject.Name)
					}
					if s.Over != (k == len(all)-1) {
						t.Errorf("report %d of %d of trial %d: the trial is over: %v", k+1, len(all), i+1, s.Over)
					}
				}
				if first := i/2*2 + 1; row.beside && (last.First != first || last.Last != first+1 || !strings.Contains(last.Beside, " beside ")) {
					t.Errorf("trial %d runs among %q, %d to %d", i+1, last.Beside, last.First, last.Last)
				}
			}
		})
	}
}

func TestRunner_estimateEnd(t *testing.T) {
	for _, row := range []struct {
		about  string
		n      int
		budget time.Duration
		want   time.Duration // until the end, after 20 s; negative if unknown
	}{
		{"no trial has ended", 0, 0, -1},
		{"half of the trials have ended", 2, 0, 20 * time.Second},
		{"all have ended", 4, 0, 0},
		{"no trial begins after the budget", 2, 15 * time.Second, 5 * time.Second},
	} {
		r := runner{start: time.Now().Add(-20 * time.Second), budget: row.budget}
		end := r.estimateEnd(row.n, 4)
		if got := time.Until(end).Round(time.Second); got != row.want && !(row.want < 0 && end.IsZero()) {
			t.Errorf("%s: %v, want %v", row.about, got, row.want)
		}
	}
}
