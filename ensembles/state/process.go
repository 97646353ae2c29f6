package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
	s, err := readStat(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return Process{}, fmt.Errorf("no process %d: %w", pid, err)
	}
	return Process{PID: pid, Start: boot() + "/" + s.start}, nil
}

// FindAll returns the processes that were started with this argument. So a record
// needs no list of processes, and misses none whose parent died before it could
// write it down.
func FindAll(argument string) []Process {
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	var found []Process
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err != nil || !slices.Contains(strings.Split(string(line), "\x00"), argument) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			continue
		}
		if p, err := Find(pid); err == nil && p.Alive() {
			found = append(found, p)
		}
	}
	return found
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
	dir := filepath.Join("/proc", fmt.Sprint(p.PID))
	s, err := readStat(filepath.Join(dir, "stat"))
	if err != nil {
		return false
	}
	if p.Start != "" && p.Start != boot()+"/"+s.start {
		return false
	}
	if s.state != "Z" && s.state != "X" {
		return true
	}
	// The first thread of a dying process shows as Z while others still hold its sockets.
	tasks, err := os.ReadDir(filepath.Join(dir, "task"))
	return err == nil && len(tasks) > 1
}

// Stopped reports whether every thread of the process is stopped by a signal.
func (p Process) Stopped() bool {
	tasks, err := filepath.Glob(filepath.Join("/proc", fmt.Sprint(p.PID), "task", "*", "stat"))
	if err != nil || len(tasks) == 0 {
		return false
	}
	for _, task := range tasks {
		if s, err := readStat(task); err == nil && s.state != "T" {
			return false
		}
	}
	return true
}

// stat is what we need of /proc/PID/stat, described in proc(5).
type stat struct{ state, start string }

func readStat(name string) (stat, error) {
	line, err := os.ReadFile(name)
	if err != nil {
		return stat{}, err
	}
	return parseStat(line)
}

// parseStat reads the line after the command's name, which is in parentheses
// and may itself hold spaces and parentheses.
func parseStat(line []byte) (stat, error) {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("not a stat line: %q", line)
	}
	fields := strings.Fields(string(line[end+1:]))
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("not a stat line: %q", line)
	}
	return stat{state: fields[0], start: fields[19]}, nil // fields 3 and 22 of the man page
}

// boot names this boot of the machine: earlier ones counted the same ticks.
var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})
