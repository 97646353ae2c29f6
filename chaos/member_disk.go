package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

var needsDisk = need{about: "local JVMs that zkbench starts for the run (--ensemble process), and FUSE: /dev/fuse and the permission to mount", members: true,
	checkMachine: func(a Abilities) error { return cmp.Or(a.Java, a.Disks) }, checkEnsemble: checkDisks}

// TouchesDisks reports whether the fault with that name needs [ensembles.Options.Disks].
func TouchesDisks(name string) bool { return name == diskSlow.Name || name == diskFail.Name }

func checkDisks(_ context.Context, t Target) error {
	if t.Ensemble.Members[0].Disk != nil {
		return nil
	}
	return fmt.Errorf("%w: the members' disks cannot be made slow or fail: %w", ErrSkipped, cmp.Or(process.CheckDisks(),
		errors.New("this is possible only for local JVMs that zkbench starts for the run; use --ensemble process")))
}

// syncLimit bounds the wait for an fsync of the log, and for the member's reaction.
const syncLimit = 10 * time.Second

// breakDisk delays the fsyncs of a member's transaction log, or lets them fail if the delay is 0.
func breakDisk(delay time.Duration) memberFault {
	return func(ctx context.Context, t Target, v targetMember) (e Effect, err error) {
		if err := checkDisks(ctx, t); err != nil {
			return e, err
		}
		heal, hits, err := v.Disk.Break(delay)
		if err != nil {
			return e, untouchedError{fmt.Errorf("%s: %w", v.Name, err)}
		}
		e.ServedClients = servedBy(t, []memberRule{{targetMember: v}})
		e.Undo = func(context.Context) error { heal(); return nil }
		e.AwaitRecovery = func(ctx context.Context) error { return awaitRecovered(ctx, t, v) }
		if delay == 0 {
			e.Undo = func(ctx context.Context) error { heal(); return startAgain(ctx, v) } // if it has ended
			e.AwaitRecovery = func(ctx context.Context) error {
				sleepUntil(ctx, time.Now().Add(t.Ensemble.Tick)) // within it, a member notices an error of its log and leaves the quorum
				return awaitRecovered(ctx, t, v)
			}
		}
		return e.inject(ctx, nil, func() (proof string, err error) {
			err = poll(ctx, delay+syncLimit, func(ctx context.Context) error {
				n := hits()
				if n == 0 {
					return fmt.Errorf("%w: there was no fsync of the transaction log of %s (there is one when clients change nodes)", ErrNoEffect, v.Name)
				}
				if delay > 0 {
					proof = fmt.Sprintf("%s took %v or more for an fsync of its transaction log (number of fsyncs: %d)", v.Name, delay, n)
					return nil
				}
				proof = fmt.Sprintf("%s got EIO for each fsync of its transaction log (number: %d), and stopped serving", v.Name, n)
				if _, down := ensembles.Ask(ctx, v.Member); down == nil {
					return fmt.Errorf("%w: %s still serves, although fsyncs of its transaction log failed (number: %d)", ErrNoEffect, v.Name, n)
				}
				return nil
			})
			return proof, err
		})
	}
}

// disk.slow delays commits only if no quorum is fast: a commit waits for the logs of a quorum, which need not include
// the leader's.
var diskSlow = register(Kind{
	Name:   "disk.slow",
	About:  "delays each fsync of a member's transaction log; commits are delayed with target majority, otherwise a quorum is fast",
	Proof:  "an fsync took at least the delay",
	Target: Majority,
	Params: []Param{{"delay", "500ms", "length of the delay; at least 1ms"}},
	needs:  []need{needsDisk},
	onMember: func(s settings) memberFault {
		delay := s.duration("delay")
		if delay < time.Millisecond {
			s.bad("delay", "is less than 1ms")
		}
		return breakDisk(delay)
	},
})

// disk.fail does not end the process of ZooKeeper 3.8: the member leaves the quorum, rejoins it, and fails again at the
// next fsync. Healing does not restart it: its tree is complete, but its log lacks transactions that it has applied.
var diskFail = register(Kind{
	Name:     "disk.fail",
	About:    "fails each fsync of a member's transaction log (EIO), as a broken disk does; healing starts the member again if it ended",
	Proof:    "an fsync failed, and the member stopped serving",
	Target:   Follower,
	needs:    []need{needsDisk},
	onMember: fixed(breakDisk(0)),
})
