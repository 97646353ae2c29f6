package state

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/prometheus/procfs"
)

// Process names one operating system process for ever: a process id is used
// again, an id with its start time is not.
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // boot id and clock ticks since boot, opaque
}

// String returns the process as PID:START, which [ParseProcess] reads.
func (p Process) String() string { return fmt.Sprintf("%d:%s", p.PID, p.Start) }

// ParseProcess reads what String wrote. Anything else is the zero Process, which
// is nobody.
func ParseProcess(text string) Process {
	pid, start, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return Process{}
	}
	return Process{PID: n, Start: start}
}

// Self returns the calling process.
func Self() Process {
	p, err := Find(os.Getpid())
	if err != nil {
		// Without /proc the start is not known.
		return Process{PID: os.Getpid()}
	}
	return p
}

// Find returns the process that has this id now.
func Find(pid int) (Process, error) {
	_, start, err := observe(pid)
	if err != nil {
		return Process{}, fmt.Errorf("no process %d: %w", pid, err)
	}
	return Process{PID: pid, Start: start}, nil
}

// FindAll returns the processes that were started with this argument. So a record
// needs no list of processes, and misses none whose parent died before it could
// write it down.
func FindAll(argument string) []Process {
	all, _ := procfs.AllProcs() // none without /proc
	var found []Process
	for _, candidate := range all {
		arguments, err := candidate.CmdLine()
		if err != nil || !slices.Contains(arguments, argument) {
			continue
		}
		if p, err := Find(candidate.PID); err == nil && p.Alive() {
			found = append(found, p)
		}
	}
	return found
}

// Arguments returns the command line of the process; nil if it has ended.
func (p Process) Arguments() []string {
	found, err := procfs.NewProc(p.PID)
	if err != nil {
		return nil
	}
	arguments, _ := found.CmdLine()
	return arguments
}

// Signal sends a signal to this process, and never to a later one with its id.
// It is no error when the process has ended, or never was.
func (p Process) Signal(s os.Signal) error {
	if !p.Alive() {
		return nil
	}
	handle, err := os.FindProcess(p.PID) // holds on to the process where the kernel has pidfds
	if err != nil {
		return fmt.Errorf("finding process %d: %w", p.PID, err)
	}
	defer handle.Release()
	if !p.Alive() { // it ended in between, and the handle may be somebody else's
		return nil
	}
	if err := handle.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %v to process %d: %w", s, p.PID, err)
	}
	return nil
}

// Alive reports whether the process still runs. One that has ended and that its
// parent has not yet waited for is not alive. Without /proc there is no start
// time, and an id that is in use is taken for the process.
func (p Process) Alive() bool {
	if p.PID == 0 {
		return false
	}
	if runtime.GOOS != "linux" {
		handle, err := os.FindProcess(p.PID)
		if err != nil {
			return false
		}
		defer handle.Release()
		return runtime.GOOS == "windows" || handle.Signal(syscall.Signal(0)) == nil
	}
	state, start, err := observe(p.PID)
	if err != nil || p.Start != "" && p.Start != start {
		return false
	}
	if state != "Z" && state != "X" {
		return true
	}
	// The first thread of a dying process shows as Z while others still hold its sockets.
	threads, err := procfs.AllThreads(p.PID)
	return err == nil && len(threads) > 1
}

// Stopped reports whether every thread of the process is stopped by a signal.
func (p Process) Stopped() bool {
	threads, err := procfs.AllThreads(p.PID)
	if err != nil || len(threads) == 0 {
		return false
	}
	return !slices.ContainsFunc(threads, func(thread procfs.Proc) bool {
		stat, err := thread.Stat()
		return err == nil && stat.State != "T"
	})
}

// observe returns the state of the process that has this id, a letter of proc(5), and
// when it was started.
func observe(pid int) (state, start string, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return "", "", err
	}
	stat, err := p.Stat()
	return stat.State, boot() + "/" + strconv.FormatUint(stat.Starttime, 10), err
}

// boot names this boot of the machine: earlier ones counted the same ticks.
var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// Group returns the processes of a process group.
func Group(id int) []Process {
	all, _ := procfs.AllProcs() // none without /proc
	var found []Process
	for _, candidate := range all {
		if stat, err := candidate.Stat(); err != nil || stat.PGRP != id {
			continue
		}
		if p, err := Find(candidate.PID); err == nil && p.Alive() {
			found = append(found, p)
		}
	}
	return found
}

// Marked returns the processes that have a variable in their environment, with its value,
// as far as their environments can be read. Those of another PID namespace, a container's, are
// not ours: a process that their value names has another id there.
func Marked(variable string) map[Process]string {
	all, _ := procfs.AllProcs() // none without /proc
	found := map[Process]string{}
	for _, candidate := range all {
		if pidNamespace(candidate.PID) != pidNamespace(os.Getpid()) {
			continue
		}
		environment, _ := candidate.Environ() // none of another user's
		for _, entry := range environment {
			value, ok := strings.CutPrefix(entry, variable+"=")
			if !ok {
				continue
			}
			if p, err := Find(candidate.PID); err == nil && p.Alive() {
				found[p] = value
			}
		}
	}
	return found
}

// pidNamespace names the namespace in which a process has its id; "" where that is not known.
func pidNamespace(pid int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)) // nor is the environment then
	return name
}
