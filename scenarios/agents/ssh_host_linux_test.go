package agents

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
)

type testHost struct {
	Name    string
	Address netip.Addr
	key     string // public, in the form of ssh's list of known hosts
	dir     string // its folder on this machine
	pid     int    // of its sshd
	bridge  *bridge
	port    netlink.Link // on the bridge
}

// boot sets up the namespaces that it is started in, and becomes the host's sshd. The host's own
// files are in folder $1.
const boot = `set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir /run/sshd /run/host
chmod 755 /run/sshd
mount --bind "$1" /run/host
mount --bind /run/host/tmp /tmp
mount --bind /run/host/home "$HOME"
hostname "$2"
exec "$3" -D -e -f /run/host/sshd_config`

// config is the sshd's. StrictModes would reject the owners of the folders above its files.
const config = `HostKey /run/host/key
AuthorizedKeysFile /run/host/authorized
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
`

// start starts a host and connects it to the bridge.
func (n *testNetwork) start(t testing.TB, sshd string, b *bridge, name string, address netip.Addr) *testHost {
	t.Helper()
	h := &testHost{Name: name, Address: address, dir: n.file(name), bridge: b}
	must(t, os.Mkdir(h.dir, 0o755))
	h.key = n.key(t, filepath.Join(name, "key"))
	authorized, err := os.ReadFile(n.file("id.pub"))
	must(t, err)
	must(t, os.Mkdir(h.Temp(), 0o777|fs.ModeSticky))
	must(t, os.Mkdir(h.Home(), 0o700))
	must(t, os.WriteFile(filepath.Join(h.dir, "authorized"), authorized, 0o600))
	must(t, os.WriteFile(filepath.Join(h.dir, "sshd_config"), []byte(config), 0o600))
	cmd := exec.Command("sh", "-c", boot, "sh", h.dir, name, sshd)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + home()}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
	}
	h.run(t, cmd)
	h.port = b.connect(t, name, h.pid, address)
	return h
}

// home returns root's home in ssh's view, which ignores the environment.
func home() string {
	out, err := exec.Command("sh", "-c", "echo ~root").Output()
	if err != nil {
		return "/root"
	}
	return strings.TrimSpace(string(out))
}

// run starts the sshd on a thread that lives until it has ended, since the kernel kills it with
// that thread, and returns once it listens. All processes of the host end with it.
func (h *testHost) run(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	said, err := cmd.StderrPipe()
	must(t, err)
	started, ended := make(chan error), make(chan struct{})
	listens := make(chan struct{})
	log := &lines{}
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		log.read(bufio.NewScanner(said), "Server listening on 0.0.0.0", listens)
		_ = cmd.Wait()
	}()
	must(t, <-started)
	h.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the sshd of %s said:\n%s", h.Name, log)
		}
	})
	select {
	case <-listens:
	case <-ended:
		t.Fatalf("the sshd of %s has ended: %v\n%s", h.Name, cmd.ProcessState, log)
	case <-time.After(20 * time.Second):
		t.Fatalf("the sshd of %s does not listen:\n%s", h.Name, log)
	}
}

// await waits until the sshd can be reached: a new link takes some time.
func (h *testHost) await(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := h.banner()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sshd of %s does not answer: %v", h.Name, err)
		}
	}
}

func (h *testHost) banner() error {
	conn, err := net.DialTimeout("tcp", netip.AddrPortFrom(h.Address, 22).String(), 200*time.Millisecond)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "SSH-2.0-") {
		err = fmt.Errorf("it says %q", line)
	}
	return err
}

// Temp returns the host's /tmp, and Home root's home there, as folders of this machine.
func (h *testHost) Temp() string { return filepath.Join(h.dir, "tmp") }
func (h *testHost) Home() string { return filepath.Join(h.dir, "home") }

// Cut disconnects the host from the bridge silently; Mend reconnects it.
func (h *testHost) Cut() error  { return h.bridge.net.LinkSetDown(h.port) }
func (h *testHost) Mend() error { return h.bridge.net.LinkSetUp(h.port) }

// Processes returns the command lines of the host's processes, without ssh's own, by their process
// IDs on this machine.
func (h *testHost) Processes() map[int]string {
	found := map[int]string{}
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", h.pid))
	if err != nil {
		return found
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		theirs, _ := os.Readlink(dir + "/ns/pid")
		name, _ := os.ReadFile(dir + "/comm")
		if theirs != own || strings.HasPrefix(string(name), "sshd") {
			continue
		}
		line, err := os.ReadFile(dir + "/cmdline")
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if err == nil && len(line) > 0 { // a zombie has none
			found[pid] = strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// Left returns what should not be on the host: processes, and files in its temporary folder and
// root's home.
func (h *testHost) Left() (left []string) {
	for pid, line := range h.Processes() {
		left = append(left, fmt.Sprintf("process %d: %s", pid, line))
	}
	for _, dir := range []string{h.Temp(), h.Home()} {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if path != dir && err == nil {
				left = append(left, "file "+strings.TrimPrefix(path, h.dir))
			}
			return nil
		})
	}
	slices.Sort(left)
	return left
}

// lines collects the output of a process.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// read reads to the end, and closes found when a line begins with the wanted text.
func (l *lines) read(in *bufio.Scanner, wanted string, found chan struct{}) {
	for in.Scan() {
		l.mu.Lock()
		l.text.WriteString(in.Text() + "\n")
		l.mu.Unlock()
		if strings.HasPrefix(in.Text(), wanted) {
			close(found)
		}
	}
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
