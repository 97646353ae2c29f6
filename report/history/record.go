// Package history is the ordered record of one trial: every operation, fault and event, on one
// monotonic clock. It is written while the trial runs, and all conclusions are derived from it.
//
//	w, err := history.Create("history/mine.jsonl.zst", history.Header{Trial: "mine", Cell: history.Cell{Subject: "lock/mine"}})
//	w.Sample(history.Sample{Op: history.Acquire, Call: called, Return: clock.Now(), Outcome: history.OK})
//	err = w.Close()
//
//	h, err := history.Open("history/mine.jsonl.zst")
//	for n, err := range h.Records {
//		switch r := n.Record.(type) {
//		case *history.Sample:
//		case *history.Window:
//		}
//	}
//
// A file has one JSON value per line, compressed with zstd: a [Header], then records such as
// {"sample":{...}} or {"session":{...}}, then {"end":{"records":N}}.
package history

import (
	"reflect"
	"time"
)

// Record is an entry of a history. Each kind of record is a struct of its own: [Sample], [Window],
// [PhaseStart], [Session], and others in this package.
type Record interface {
	// Time returns the latest time in the record, since the trial's start.
	Time() time.Duration
}

// Numbered is a record with its number, from 1. In the file it is on line N+1.
type Numbered struct {
	N int
	Record
}

// kinds are the kinds of record, by the name on their lines.
var kinds = map[string]reflect.Type{
	"sample":      reflect.TypeFor[Sample](),
	"fault":       reflect.TypeFor[Window](),
	"phase.start": reflect.TypeFor[PhaseStart](),
	"phase.end":   reflect.TypeFor[PhaseEnd](),
	"arrivals":    reflect.TypeFor[Arrivals](),
	"waiting":     reflect.TypeFor[Waiting](),
	"unplayed":    reflect.TypeFor[Unplayed](),
	"lost.reply":  reflect.TypeFor[LostReply](),
	"session":     reflect.TypeFor[Session](),
	"joined":      reflect.TypeFor[Joined](),
	"leaving":     reflect.TypeFor[Leaving](),
	"warning":     reflect.TypeFor[Warning](),
	"emptied":     reflect.TypeFor[Emptied](),
	"holds":       reflect.TypeFor[Holds](),
	"traffic":     reflect.TypeFor[Traffic](),
	"pipe":        reflect.TypeFor[Pipe](),
	"effort":      reflect.TypeFor[Effort](),
	"failover":    reflect.TypeFor[Failover](),
	"paused":      reflect.TypeFor[Paused](),
	"recovered":   reflect.TypeFor[Recovered](),
	"connections": reflect.TypeFor[Connections](),
	"connected":   reflect.TypeFor[Connected](),
	"reconnected": reflect.TypeFor[Reconnected](),
	"footprint":   reflect.TypeFor[Footprint](),
	"member.load": reflect.TypeFor[MemberLoad](),
	"claim.check": reflect.TypeFor[ClaimCheck](),
	"snapshot":    reflect.TypeFor[Snapshot](),
	"commit":      reflect.TypeFor[Commit](),
	"commits.end": reflect.TypeFor[CommitsEnd](),
	"step":        reflect.TypeFor[Step](),
	"self":        reflect.TypeFor[Self](),
}

var names = func() map[reflect.Type]string {
	out := map[reflect.Type]string{}
	for name, t := range kinds {
		out[reflect.PointerTo(t)] = name
	}
	return out
}()

// The times of the kinds of record.

func (r *Sample) Time() time.Duration      { return r.Return }
func (r *Window) Time() time.Duration      { return max(r.Start, r.End) }
func (r *Recovered) Time() time.Duration   { return r.At }
func (r *Pipe) Time() time.Duration        { return r.At }
func (r *Connections) Time() time.Duration { return r.At }
func (r *Connected) Time() time.Duration   { return r.At }
func (r *Reconnected) Time() time.Duration { return r.At }
func (r *Footprint) Time() time.Duration   { return r.At }
func (r *MemberLoad) Time() time.Duration  { return r.At }
func (r *PhaseStart) Time() time.Duration  { return r.At }
func (r *PhaseEnd) Time() time.Duration    { return r.At }
func (r *Arrivals) Time() time.Duration    { return r.At }
func (r *Waiting) Time() time.Duration     { return r.At }
func (r *Unplayed) Time() time.Duration    { return r.At }
func (r *LostReply) Time() time.Duration   { return r.At }
func (r *Session) Time() time.Duration     { return r.At }
func (r *Joined) Time() time.Duration      { return r.At }
func (r *Leaving) Time() time.Duration     { return r.At }
func (r *Warning) Time() time.Duration     { return r.At }
func (r *Emptied) Time() time.Duration     { return r.At }
func (r *Holds) Time() time.Duration       { return r.At }
func (r *Traffic) Time() time.Duration     { return r.At }
func (r *Effort) Time() time.Duration      { return r.At }
func (r *Failover) Time() time.Duration    { return r.At }
func (r *Paused) Time() time.Duration      { return r.At }
func (r *ClaimCheck) Time() time.Duration  { return r.At }
func (r *Snapshot) Time() time.Duration    { return r.At }
func (r *Step) Time() time.Duration        { return r.At }
func (r *Self) Time() time.Duration        { return r.At }
