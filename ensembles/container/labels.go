package container

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

// The labels of the containers and networks that zkbench creates. After a crash they are the only
// description of an ensemble, so they must be complete.
const (
	labelOurs     = "zkbench"
	labelEnsemble = "zkbench.ensemble" // the ensemble's ID
	labelOwner    = "zkbench.owner"    // PID:START of the process that created it
	labelHost     = "zkbench.host"     // where that process ID is valid
	labelKeep     = "zkbench.keep"     // "true": persistent
	labelCreated  = "zkbench.created"  // RFC 3339
	labelTick     = "zkbench.tick"     // a Go duration
	labelSecure   = "zkbench.secure"   // the members' requirements for clients: "tls,digest"
	labelMember   = "zkbench.member"   // a member's name; on its container only
	labelID       = "zkbench.myid"
	labelObserver = "zkbench.observer" // "true": it does not vote
	labelIP       = "zkbench.ip"
	labelPort     = "zkbench.published" // port on 127.0.0.1; "0": clients dial the address
	labelVersion  = "zkbench.version"   // the version that it runs, if members are upgraded
)

func labels(r *state.Record) map[string]string {
	return map[string]string{
		labelOurs:     "1",
		labelEnsemble: r.ID,
		labelOwner:    r.Owner.String(),
		labelHost:     state.Host(),
		labelKeep:     strconv.FormatBool(r.Keep),
		labelCreated:  r.Created.Format(time.RFC3339),
		labelTick:     r.Tick.String(),
		labelSecure:   strings.Join(r.Secure, ","),
	}
}

func memberLabels(r *state.Record, m state.Member) map[string]string {
	l := labels(r)
	l[labelMember] = m.Name
	l[labelID] = strconv.Itoa(m.ID)
	l[labelObserver] = strconv.FormatBool(m.Observer)
	l[labelIP] = m.IP
	l[labelPort] = strconv.Itoa(m.Published)
	return l
}

func parseRecord(l map[string]string) (state.Record, error) {
	tick, tickErr := time.ParseDuration(l[labelTick])
	created, createdErr := time.Parse(time.RFC3339, l[labelCreated])
	r := state.Record{
		ID: l[labelEnsemble], Kind: ensembles.Container, Keep: l[labelKeep] == "true",
		Host: l[labelHost], Owner: state.ParseProcess(l[labelOwner]), Tick: tick, Created: created,
	}
	if words := l[labelSecure]; words != "" {
		r.Secure = strings.Split(words, ",")
	}
	if err := errors.Join(tickErr, createdErr); err != nil {
		return r, fmt.Errorf("ensemble %s has a bad label %s or %s: %w", r.ID, labelTick, labelCreated, err)
	}
	return r, nil
}

func parseMember(l map[string]string, container string) (state.Member, error) {
	id, idErr := strconv.Atoi(l[labelID])
	published, portErr := strconv.Atoi(l[labelPort])
	m := state.Member{
		Name: l[labelMember], ID: id, Observer: l[labelObserver] == "true", IP: l[labelIP], Container: container, Published: published,
		Ports: [3]int{setup.ClientPort, setup.QuorumPort, setup.ElectionPort},
	}
	if err := errors.Join(idErr, portErr); err != nil {
		return m, fmt.Errorf("container %.12s has a bad label %s or %s: %w", container, labelID, labelPort, err)
	}
	return m, nil
}
