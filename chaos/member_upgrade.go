package chaos

import (
	"context"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/ensembles"
)

// MemberUpgrade is the name of the fault that changes members' version of ZooKeeper.
const MemberUpgrade = "member.upgrade"

// Values of its parameter to, in addition to the name of a version.
const (
	versionNew = "new" // the last version of the ensemble
	versionOld = "old" // the first version of the ensemble
)

// member.upgrade changes the version of ZooKeeper in either direction. Each member keeps its data,
// and serves before the next one stops.
var _ = register(Kind{
	Name:  MemberUpgrade,
	About: "restarts members with another version of ZooKeeper, one after the other, the leader last",
	Proof: "each process ended, the member serves again with the other version and the same transaction logs, and all members served before the next one stopped",
	Params: []Param{
		{"to", versionNew, "version to upgrade to: new (the last one in --image or --zookeeper-home), old (the first one), or its name"},
		{"leave", "0", "number of members that are not upgraded; the leader is one of them"},
	},
	needs: []need{memberNeed(), needsVersions},
	build: func(_ string, s settings) injector {
		to, leave := s.values["to"], s.number("leave", 0, 100)
		return func(ctx context.Context, t Target) (Effect, error) { return upgrade(ctx, t, to, leave) }
	},
})

var needsVersions = need{about: "two versions of ZooKeeper (--image OLD,NEW or --zookeeper-home OLD,NEW)", checkEnsemble: checkVersions}

func checkVersions(_ context.Context, t Target) error {
	if len(t.Ensemble.Versions) < 2 {
		return fmt.Errorf("%w: the ensemble was started with only one version of ZooKeeper: name two (--image OLD,NEW or --zookeeper-home OLD,NEW)", ErrSkipped)
	}
	return nil
}

// UpgradesTo returns the version that the fault member.upgrade installs for its parameter to. names
// are the ensemble's versions; members start with the first.
func UpgradesTo(to string, names []string) string {
	switch to {
	case "", versionNew:
		return names[len(names)-1]
	case versionOld:
		return names[0]
	}
	return to
}

// upgrade restarts members with another version until at most leave members do not run it.
func upgrade(ctx context.Context, t Target, to string, leave int) (Effect, error) {
	if err := checkVersions(ctx, t); err != nil {
		return Effect{}, untouchedError{err}
	}
	names := texts(t.Ensemble.Versions, func(v ensembles.Version) string { return v.Name })
	version, err := t.Ensemble.VersionNamed(UpgradesTo(to, names))
	if err != nil {
		return Effect{}, untouchedError{err}
	}
	outdated, err := outdatedMembers(ctx, t, version)
	if err != nil {
		return Effect{}, err
	}
	if len(outdated) <= leave {
		return Effect{}, untouchedError{fmt.Errorf("%w: no member was upgraded, because at most %d members run a version other than %s", ErrNoEffect, leave, version.Name)}
	}
	var proof, targets []string
	for _, m := range outdated[:len(outdated)-leave] {
		upgraded, err := upgradeMember(ctx, t, targetMember{Member: m}, version)
		if err == nil {
			err = allServe(ctx, t.Ensemble)
		}
		if err != nil {
			return Effect{}, err
		}
		targets, proof = append(targets, m.Name), append(proof, upgraded)
	}
	return Effect{Target: strings.Join(targets, ", "), Client: -1,
		Proof: fmt.Sprintf("each was down and served again from %s (%s): %s", version.Name, version.From, strings.Join(proof, ", "))}, nil
}

// outdatedMembers returns the members that do not run the version, the leader last.
func outdatedMembers(ctx context.Context, t Target, v ensembles.Version) ([]*ensembles.Member, error) {
	leader, err := pickMember(ctx, t, Leader)
	if err != nil {
		return nil, err
	}
	var outdated []*ensembles.Member
	for _, m := range append(others(t.Ensemble, leader.Member), leader.Member) {
		machine, ok := m.Machine.(ensembles.Upgrader)
		if !ok {
			return nil, untouchedError{fmt.Errorf("%w: %s: %w", ErrSkipped, m.Name, ensembles.ErrNotOurs)}
		}
		name, err := machine.CurrentVersion(ctx)
		if err != nil {
			return nil, err
		}
		if name != v.Name {
			outdated = append(outdated, m)
		}
	}
	return outdated, nil
}

func upgradeMember(ctx context.Context, t Target, m targetMember, v ensembles.Version) (text string, err error) {
	machine := m.Machine.(ensembles.Upgrader) // checked by outdatedMembers
	was, err := statusOf(ctx, m)
	if err != nil {
		return "", err
	}
	err = changeStopped(ctx, t, m, func(ctx context.Context) error { return change(ctx, m, machine, v, was.Zxid) })
	if err != nil {
		return "", err
	}
	name, err := machine.CurrentVersion(ctx) // from how its process or container was started
	if err == nil && name != v.Name {
		err = fmt.Errorf("%w: %s runs %s, not %s", ErrNoEffect, m.Name, name, v.Name)
	}
	if err != nil {
		return "", err
	}
	now, err := statusOf(ctx, m)
	return fmt.Sprintf("%s %s to %s", m.Name, was.Version, now.Version), err
}

// change installs another version for a stopped member, and proves that it has its log, which ends near zxid.
func change(ctx context.Context, m targetMember, upgrader ensembles.Upgrader, v ensembles.Version, zxid int64) error {
	before, err := logs(ctx, m, zxid)
	if err == nil {
		err = upgrader.Upgrade(ctx, v)
	}
	if err != nil {
		return err
	}
	after, err := logs(ctx, m, zxid)
	if err == nil && after < before {
		err = fmt.Errorf("%w: %s lost its transaction logs", ErrNoEffect, m.Name)
	}
	return err
}

// logs counts a member's transaction logs that do not end before the zxid.
func logs(ctx context.Context, m targetMember, zxid int64) (n int, err error) {
	all, err := m.Machine.TxnLogs(ctx, zxid)
	for _, l := range all {
		l.Close()
	}
	return len(all), err
}

// statusOf returns a member's status; it waits while the member is electing.
func statusOf(ctx context.Context, m targetMember) (s ensembles.Server, err error) {
	err = poll(ctx, returnLimit, func(ctx context.Context) error {
		s, err = ensembles.Ask(ctx, m.Member)
		return err
	})
	return s, err
}
