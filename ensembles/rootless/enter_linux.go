package rootless

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ID returns an ID of this process's user namespace if zkbench created it, and "" otherwise.
func ID() string {
	if !Inside() {
		return ""
	}
	id, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return "unknown"
	}
	return id
}

const (
	trialVariable = "ZKBENCH_ROOTLESS_TRIAL"  // the process only tests whether it can enter namespaces
	dirVariable   = "ZKBENCH_ROOTLESS_FOLDER" // the working directory, which is lost when a mount namespace is entered
)

// SetUp enables loopback if [Inside] is true. main must call it first. On success it ends a process of [Possible].
func SetUp() error {
	if !Inside() {
		return nil
	}
	err := setUp()
	if err == nil && os.Getenv(trialVariable) != "" {
		os.Exit(0)
	}
	return err
}

func setUp() error {
	if dir := os.Getenv(dirVariable); dir != "" {
		if err := errors.Join(os.Chdir(dir), os.Unsetenv(dirVariable)); err != nil {
			return err
		}
	}
	if err := Rights(); err != nil {
		return err
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("setting up loopback in zkbench's network namespace: %w", err)
	}
	return nil
}

// Enter replaces this process by the same program with the arguments args (including args[0]) in new
// namespaces, or in the existing ones at join. It returns only on an error.
func Enter(join *Place, args []string) error {
	program := command(join)
	path, err := exec.LookPath(program[0])
	if err != nil {
		return errNoProgram(program[0], err)
	}
	err = syscall.Exec(path, append(program, args[1:]...), environment())
	return fmt.Errorf("starting %s: %w", path, err)
}

// Command returns a command that runs this program with these arguments in new namespaces, or in those at join.
func Command(ctx context.Context, join *Place, args ...string) *exec.Cmd {
	program := command(join)
	cmd := exec.CommandContext(ctx, program[0], append(program[1:], args...)...)
	cmd.Env = environment()
	return cmd
}

// command returns the program that runs this one in namespaces, with its arguments. unshare(1) and nsenter(1) do
// the steps that need a single-threaded process.
func command(join *Place) []string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	if join == nil {
		return []string{"unshare", "--user", "--map-root-user", "--net", "--mount", "--", self}
	}
	pid := strconv.Itoa(join.PID)
	return []string{"nsenter", "--preserve-credentials", "--user", "--mount",
		"--target", pid, "--net=/proc/" + pid + "/root" + join.Network, "--", self}
}

func environment() []string {
	env := append(os.Environ(), key+"=1")
	if dir, err := os.Getwd(); err == nil {
		env = append(env, dirVariable+"="+dir)
	}
	return env
}

// Possible returns nil if Enter works, or an error with the reason and the command that allows it. It
// starts this program, whose main calls [SetUp].
func Possible(ctx context.Context) error {
	try := Command(ctx, nil)
	try.Env = append(try.Env, trialVariable+"=1")
	out, err := try.CombinedOutput()
	if err == nil {
		return nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		return errNoProgram("unshare", err)
	}
	output := strings.TrimSpace(string(out))
	if output == "" {
		output = err.Error()
	}
	return refusal(os.DirFS("/proc"), output)
}

func errNoProgram(name string, err error) error {
	return fmt.Errorf("cannot create namespaces without root: %w (install util-linux, which contains %s)", err, name)
}

// Rights returns nil if this process may create network namespaces, link them to its own, and mount:
// it must have the capabilities, and they must apply to its namespaces.
func Rights() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("reading this process's capabilities: %w", err)
	}
	const wanted = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN
	if data[0].Effective&wanted != wanted {
		return errors.New("this process does not have CAP_SYS_ADMIN and CAP_NET_ADMIN")
	}
	for _, kind := range []string{"net", "mnt"} {
		if !ownsNamespace(kind) {
			return fmt.Errorf("this process has rights only in its user namespace, and its %s namespace belongs to another user namespace", kind)
		}
	}
	return nil
}

// ownsNamespace reports whether a namespace of this process belongs to its user namespace.
func ownsNamespace(kind string) bool {
	ns, err := os.Open("/proc/self/ns/" + kind)
	if err != nil {
		return false
	}
	defer ns.Close()
	fd, err := unix.IoctlRetInt(int(ns.Fd()), unix.NS_GET_USERNS)
	if err != nil { // the owner is a user namespace that this process cannot see
		return false
	}
	owner := os.NewFile(uintptr(fd), "the user namespace of "+kind)
	defer owner.Close()
	of, err := owner.Stat()
	if err != nil {
		return false
	}
	own, err := os.Stat("/proc/self/ns/user")
	return err == nil && os.SameFile(of, own)
}
