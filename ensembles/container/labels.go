package container

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensembles/state"
)

// The labels of everything that we make in Docker. They are all that is left of
// an ensemble whose process has died, so they say everything about it.
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
func (p *plan) labels() map[string]string {
	return map[string]string{
		labelOurs:     "1",
		labelEnsemble: p.id,
		labelOwner:    fmt.Sprintf("%d:%s", p.owner.PID, p.owner.Start),
		labelHost:     thisHost(),
		labelKeep:     strconv.FormatBool(p.keep),
		labelCreated:  p.created.Format(time.RFC3339),
		labelTick:     p.tick.String(),
	}
}

// memberLabels are those of a member's container.
func (p *plan) memberLabels(m member) map[string]string {
	labels := p.labels()
	labels[labelMember] = m.name
	labels[labelID] = strconv.Itoa(m.id)
	labels[labelIP] = m.ip
	labels[labelPort] = strconv.Itoa(m.published)
	return labels
}

// parseMember reads back memberLabels.
func parseMember(labels map[string]string, container string) (member, error) {
	m := member{name: labels[labelMember], ip: labels[labelIP], container: container}
	var err error
	if m.id, err = strconv.Atoi(labels[labelID]); err != nil {
		return m, fmt.Errorf("container %.12s has a bad label %s: %w", container, labelID, err)
	}
	if m.published, err = strconv.Atoi(labels[labelPort]); err != nil {
		return m, fmt.Errorf("container %.12s has a bad label %s: %w", container, labelPort, err)
	}
	return m, nil
}

// parseOwner reads an owner's label. An unreadable one is nobody's.
func parseOwner(label string) state.Process {
	pid, start, _ := strings.Cut(label, ":")
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return state.Process{}
	}
	return state.Process{PID: n, Start: start}
}

// ownerAlive tells whether the process that made something still runs. Of a
// process on another machine, or in another process namespace, nobody can tell:
// it counts as alive.
func ownerAlive(labels map[string]string) bool {
	if host := labels[labelHost]; host != "" && host != thisHost() {
		return true
	}
	owner := parseOwner(labels[labelOwner])
	if owner.PID == 0 {
		return false
	}
	if runtime.GOOS == "linux" {
		return owner.Alive()
	}
	// No /proc, so no start time: an id that is in use is taken for the owner.
	p, err := os.FindProcess(owner.PID)
	if err != nil {
		return false
	}
	defer p.Release()
	return runtime.GOOS == "windows" || p.Signal(syscall.Signal(0)) == nil
}

// thisHost names the machine and the process namespace that our process ids are of.
func thisHost() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return name
	}
	return name + "/" + namespace
}
