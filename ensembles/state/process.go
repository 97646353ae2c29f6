package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
)

// Process identifies a process by ID and start time, since process IDs are reused.
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // boot ID and clock ticks since boot, opaque
}

// String returns the process as PID:START, for [ParseProcess].
func (p Process) String() string { return fmt.Sprintf("%d:%s", p.PID, p.Start) }

// ParseProcess parses the output of String. It returns the zero Process for any other text.
func ParseProcess(text string) Process {
	pid, start, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return Process{}
	}
	return Process{PID: n, Start: start}
}

// Self returns this process. Without /proc its Start is empty.
func Self() Process {
	p, err := Find(os.Getpid())
	if err != nil {
		return Process{PID: os.Getpid()}
	}
	return p
}

// Find returns the process that has this ID now.
func Find(pid int) (Process, error) {
	_, start, err := readStat(pid)
	if err != nil {
		return Process{}, fmt.Errorf("no process %d: %w", pid, err)
	}
	return Process{PID: pid, Start: start}, nil
}

// FindAll returns the processes of this user that were started with this argument. Records contain no
// process IDs, since a record could miss a process whose parent died early.
func FindAll(argument string) []Process {
	return findProcesses(func(candidate procfs.Proc) bool {
		arguments, err := candidate.CmdLine()
		return err == nil && slices.Contains(arguments, argument) && ownProcess(candidate.PID)
	})
}

func findProcesses(wanted func(procfs.Proc) bool) (found []Process) {
	all, _ := procfs.AllProcs()
	for _, candidate := range all {
		if !wanted(candidate) {
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

// Signal sends a signal to this process, and never to a later process with the same ID. It returns nil
// if the process has ended.
func (p Process) Signal(s os.Signal) error {
	if !p.Alive() {
		return nil
	}
	handle, err := os.FindProcess(p.PID) // with pidfds, handle refers to this process only
	if err != nil {
		return fmt.Errorf("finding process %d: %w", p.PID, err)
	}
	defer handle.Release()
	if !p.Alive() {
		return nil
	}
	if err := handle.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %v to process %d: %w", s, p.PID, err)
	}
	return nil
}

// killLimit is how long Kill waits for the process to end; a loaded machine may end it late.
const killLimit = 10 * time.Second

// Kill kills this process with SIGKILL and returns when it has ended.
func (p Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), killLimit)
	defer stop()
	if wait.Until(ctx, 5*time.Millisecond, func() bool { return !p.Alive() }) != nil {
		return fmt.Errorf("process %d is still running %v after SIGKILL", p.PID, killLimit)
	}
	return nil
}

// Alive reports whether the process still runs. A zombie is not alive. Without /proc the start time is
// unknown, and any process with the ID counts.
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
	state, start, err := readStat(p.PID)
	if err != nil || p.Start != "" && p.Start != start {
		return false
	}
	if state != "Z" && state != "X" {
		return true
	}
	// The first thread of a dying process is a zombie while other threads still hold its sockets.
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

// readStat returns the state of a process, as the letter in proc(5), and its start: boot ID/clock ticks since the boot.
func readStat(pid int) (state, start string, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return "", "", err
	}
	stat, err := p.Stat()
	return stat.State, boot() + "/" + strconv.FormatUint(stat.Starttime, 10), err
}

// boot identifies this boot of the machine, since start times are relative to the boot.
var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// Group returns the living processes of the process group with that ID.
func Group(id int) []Process {
	return findProcesses(func(candidate procfs.Proc) bool {
		stat, err := candidate.Stat()
		return err == nil && stat.PGRP == id
	})
}

// FindByVariable returns the processes of this user with a readable environment that contains a variable, with
// its value. It omits processes of other PID namespaces, such as a container's: the process IDs in
// their values have another meaning.
func FindByVariable(variable string) map[Process]string {
	all, _ := procfs.AllProcs()
	found := map[Process]string{}
	for _, candidate := range all {
		if pidNamespace(candidate.PID) != pidNamespace(os.Getpid()) || !ownProcess(candidate.PID) {
			continue
		}
		environment, _ := candidate.Environ()
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

// pidNamespace identifies the namespace of a process's ID; "" if unknown.
func pidNamespace(pid int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return name
}
