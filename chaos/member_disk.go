package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

var needsDisk = need{about: "local JVMs that zkbench starts for the run (--ensemble process), and FUSE: /dev/fuse and the permission to mount", members: true,
	checkMachine: Abilities.noDisks, checkEnsemble: checkDisks}

// TouchesDisks reports whether the fault with that name needs [ensembles.Options.Disks].
func TouchesDisks(name string) bool { return name == diskSlow.Name || name == diskFail.Name }

func checkDisks(_ context.Context, t Target) (err error) {
	if !slices.ContainsFunc(t.Ensemble.Members, func(m *ensembles.Member) bool { return m.Disk == nil }) {
		return nil
	}
	if t.Ensemble.Kind == ensembles.Process {
		err = process.CheckDisks()
	}
	if err == nil {
		err = errors.New("that is possible only for local JVMs that zkbench starts for the run; use --ensemble process")
	}
	return fmt.Errorf("%w: the members' disks cannot be made slow or fail: %w", ErrSkipped, err)
}

// syncLimit bounds the wait for a write to the log, and for the member's reaction.
const syncLimit = 10 * time.Second

// breakDisk breaks the disk of a member's transaction log, and waits until the log was written and proof returns nil.
func breakDisk(ctx context.Context, t Target, v targetMember, delay time.Duration, undo func(context.Context) error, proof func(n int, least time.Duration) (string, error)) (e Effect, err error) {
	if err := checkDisks(ctx, t); err != nil {
		return e, err
	}
	heal, err := v.Disk.Break(delay)
	if err != nil {
		return e, untouchedError{fmt.Errorf("%s: %w", v.Name, err)}
	}
	e.ServedClients = servedBy(t, []memberRule{{targetMember: v}})
	e.Undo = func(ctx context.Context) error { heal(); return undo(ctx) }
	e.AwaitRecovery = func(ctx context.Context) error { return awaitRecovered(ctx, t, v) }
	return e.inject(ctx, nil, func() (text string, err error) {
		err = poll(ctx, delay+syncLimit, func(context.Context) error {
			n, least := v.Disk.Hits()
			if n == 0 {
				return fmt.Errorf("%w: %s did not write to its transaction log (it does when clients change nodes)", ErrNoEffect, v.Name)
			}
			text, err = proof(n, least)
			return err
		})
		return text, err
	})
}

// disk.slow delays commits only if no quorum has fast disks: a commit waits for a quorum, not for the leader's disk.
var diskSlow = register(Kind{
	Name: "disk.slow",
	About: "delays each fsync of a member's transaction log; commits take at least the delay with target majority, and not longer with a " +
		"leader, a follower or a minority, since a quorum of the others is fast",
	Proof:  "an fsync took at least the delay",
	Target: Majority,
	Params: []Param{{"delay", "500ms", "length of the delay; at least 1ms"}},
	needs:  []need{needsDisk},
	onMember: func(s settings) memberFault {
		delay := s.duration("delay")
		if delay < time.Millisecond {
			s.bad("delay", "is less than 1ms")
		}
		return func(ctx context.Context, t Target, v targetMember) (Effect, error) {
			none := func(context.Context) error { return nil }
			return breakDisk(ctx, t, v, delay, none, func(n int, least time.Duration) (string, error) {
				return fmt.Sprintf("%s took %v or more for each fsync of its transaction log (number: %d)", v.Name, least.Truncate(time.Millisecond), n), nil
			})
		}
	},
})

// disk.fail does not end the process of ZooKeeper 3.8: the member leaves the quorum, rejoins it, and fails again at the
// next write. Healing starts the process again, as an operator does after replacing the disk.
var diskFail = register(Kind{
	Name:     "disk.fail",
	About:    "fails each write and fsync of a member's transaction log (EIO); healing starts the member again",
	Proof:    "a write or fsync failed, and the member ended or reported a severe error",
	Target:   Follower,
	needs:    []need{needsDisk},
	onMember: fixed(machineFault(failDisk)),
})

// severeError is the message of a server whose log fails.
const severeError = "Severe unrecoverable error"

func failDisk(ctx context.Context, t Target, v targetMember) (Effect, error) {
	before, err := v.Machine.RecentLog(ctx)
	if err != nil {
		return Effect{}, untouchedError{err}
	}
	stopped := false
	restart := func(ctx context.Context) error {
		if !stopped {
			if err := v.Machine.Stop(ctx); err != nil {
				return err
			}
			stopped = true
		}
		return startAgain(ctx, v)
	}
	return breakDisk(ctx, t, v, 0, restart, func(n int, _ time.Duration) (string, error) {
		running, err := v.Machine.Running(ctx)
		if err != nil {
			return "", err
		}
		log, err := v.Machine.RecentLog(ctx)
		did := "its process ended"
		if running {
			did = fmt.Sprintf("its server reported %q and left the quorum", severeError)
		}
		if err == nil && running && !bytes.Contains(logAfter(log, before), []byte(severeError)) {
			err = fmt.Errorf("%w: %s runs and did not report an error, although writes or fsyncs of its transaction log failed (number: %d)", ErrNoEffect, v.Name, n)
		}
		return fmt.Sprintf("%s got EIO for each write and fsync of its transaction log (number: %d), and %s", v.Name, n, did), err
	})
}

// logAfter returns the part of a log that is newer than an earlier copy of its end.
func logAfter(log, before []byte) []byte {
	const enough = 256 // a few lines, which contain times
	last := before[max(0, len(before)-enough):]
	if i := bytes.LastIndex(log, last); i >= 0 && len(last) > 0 {
		return log[i+len(last):]
	}
	return log
}
