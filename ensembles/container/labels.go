package container

import (
	"fmt"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

// The labels of everything that we make in Docker. After a crash nothing else says
// what an ensemble was, so they say everything.
const (
	labelOurs     = "zkbench"          // "1"
	labelEnsemble = "zkbench.ensemble" // the ensemble's id
	labelOwner    = "zkbench.owner"    // PID:START of the process that made it
	labelHost     = "zkbench.host"     // where that process id means something
	labelKeep     = "zkbench.keep"     // "true": it outlives its owner
	labelCreated  = "zkbench.created"  // RFC 3339
	labelTick     = "zkbench.tick"     // a Go duration
	labelMember   = "zkbench.member"   // a member's name; on its container only
	labelID       = "zkbench.myid"
	labelIP       = "zkbench.ip"
	labelPort     = "zkbench.published" // port on 127.0.0.1; "0": clients dial the address
)

// labels are those of the whole ensemble.
func labels(r *state.Record) map[string]string {
	return map[string]string{
		labelOurs:     "1",
		labelEnsemble: r.ID,
		labelOwner:    r.Owner.String(),
		labelHost:     state.Host(),
		labelKeep:     strconv.FormatBool(r.Keep),
		labelCreated:  r.Created.Format(time.RFC3339),
		labelTick:     r.Tick.String(),
	}
}

// memberLabels are those of a member's container.
func memberLabels(r *state.Record, m state.Member) map[string]string {
	l := labels(r)
	l[labelMember] = m.Name
	l[labelID] = strconv.Itoa(m.ID)
	l[labelIP] = m.IP
	l[labelPort] = strconv.Itoa(m.Published)
	return l
}

// parseRecord reads back labels. A bad one is an error, beside the rest.
func parseRecord(l map[string]string) (r state.Record, err error) {
	r = state.Record{
		ID: l[labelEnsemble], Kind: ensembles.Container, Keep: l[labelKeep] == "true",
		Host: l[labelHost], Owner: state.ParseProcess(l[labelOwner]),
	}
	if r.Tick, err = time.ParseDuration(l[labelTick]); err != nil {
		return r, fmt.Errorf("ensemble %s has a bad label %s: %w", r.ID, labelTick, err)
	}
	if r.Created, err = time.Parse(time.RFC3339, l[labelCreated]); err != nil {
		return r, fmt.Errorf("ensemble %s has a bad label %s: %w", r.ID, labelCreated, err)
	}
	return r, nil
}

// parseMember reads back memberLabels.
func parseMember(l map[string]string, container string) (state.Member, error) {
	m := state.Member{
		Name: l[labelMember], IP: l[labelIP], Container: container,
		Ports: [3]int{setup.ClientPort, setup.QuorumPort, setup.ElectionPort},
	}
	var err error
	if m.ID, err = strconv.Atoi(l[labelID]); err != nil {
		return m, fmt.Errorf("container %.12s has a bad label %s: %w", container, labelID, err)
	}
	if m.Published, err = strconv.Atoi(l[labelPort]); err != nil {
		return m, fmt.Errorf("container %.12s has a bad label %s: %w", container, labelPort, err)
	}
	return m, nil
}
