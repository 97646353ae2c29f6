package agents

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"
)

// SSHKey names the environment variable with the ssh command that starts agents, and its options:
// ssh -F FILE -p 2222.
const SSHKey = "ZKBENCH_SSH"

// defaultSSH does not ask for a password: there may be several hosts, and one terminal.
const defaultSSH = "ssh -o BatchMode=yes"

// ssh runs agents on other machines, to which it copies this program. Nothing is installed: all
// files are in one folder, which is removed when the agent ends.
type ssh struct {
	Place
	hosts []string
	words []string          // the ssh command with its options
	ways  map[string]string // our address for each host; empty if Listen sets it
}

func parseSSH(rest string, p Place) (Engine, error) {
	hosts := strings.Split(rest, ",")
	for i, host := range hosts {
		if err := checkHost(host); err != nil {
			return nil, err
		}
		if slices.Contains(hosts[:i], host) {
			return nil, fmt.Errorf("host %s is named twice", host)
		}
	}
	words, err := shellquote.Split(cmp.Or(os.Getenv(SSHKey), defaultSSH))
	if err != nil || len(words) == 0 {
		return nil, fmt.Errorf("%s=%s is no command line: %w", SSHKey, os.Getenv(SSHKey), err)
	}
	return &ssh{Place: p, hosts: hosts, words: words}, nil
}

// checkHost rejects names that ssh could take for something else than a host, or that are no file
// names.
func checkHost(host string) error {
	if host == "" || host[0] == '-' || strings.ContainsAny(host, "/ \t\r\n") {
		return fmt.Errorf("%q is no host: want HOST or USER@HOST, as ssh takes them; ports and keys belong in ssh_config, or in $%s", host, SSHKey)
	}
	return nil
}

func (s *ssh) Agents() int { return len(s.hosts) }

func (s *ssh) Start(ctx context.Context, j Join, ended func(error)) (stop func() error, err error) {
	program, err := os.Open(s.Self[0])
	if err != nil {
		return nil, fmt.Errorf("copy this program: %w", err)
	}
	all := &started{hint: func(name string, code int) string {
		if ctx.Err() != nil { // all had joined before
			return ""
		}
		return s.hint(name, code)
	}}
	stop = func() error { return errors.Join(all.end(), program.Close()) }
	info, err := program.Stat()
	if err != nil {
		return stop, err
	}
	for i, host := range s.hosts {
		own := j
		own.Address = s.address(host, j.Address)
		args := append(slices.Clone(s.Self[1:]), "agent", "--attached", "--join", remoteJoin, "--name", host, "--index", strconv.Itoa(i))
		feed := remoteFeed(uname[runtime.GOOS+"/"+runtime.GOARCH], args, own, io.NewSectionReader(program, 0, info.Size()))
		if err := all.start(s.Place, host, s.command(host, remoteScript()), feed, ended); err != nil {
			return stop, err
		}
	}
	return stop, nil
}

// command returns the command that runs a line on a host. Keep-alive options, unless the user set
// others, detect an unreachable host: ssh uses the first value of an option.
func (s *ssh) command(host, line string) []string {
	return append(slices.Clone(s.words), "-T", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3", "--", host, line)
}

// hint explains the exit code of an agent that ended before it joined.
func (s *ssh) hint(name string, code int) string {
	switch code {
	case 255: // of ssh
		return fmt.Sprintf("; have this work without a question: %s %s true", shellquote.Join(s.words...), shellquote.Join(name))
	case 126, 127: // of the shell
		return "; the program cannot be run there: build it static (make build), and have TMPDIR there be where programs may run"
	}
	return ""
}

// Reach implements Engine. Without a configured address it listens on the address from which this
// machine sends to the hosts. If that differs between hosts, it listens on all addresses, and each
// host dials its own.
func (s *ssh) Reach(ctx context.Context) (listen, host string, err error) {
	at, port := "", "0"
	if s.Listen != "" {
		if at, port, err = net.SplitHostPort(s.Listen); err != nil {
			return "", "", fmt.Errorf("%s: want HOST:PORT to listen on for agents: %w", s.Listen, err)
		}
		if !everywhere(at) {
			return s.Listen, "", nil
		}
	}
	if s.ways, err = s.findWays(ctx); err != nil {
		return "", "", err
	}
	if s.Listen == "" {
		at = s.ways[s.hosts[0]]
		for _, way := range s.ways {
			if way != at {
				at = ""
				break
			}
		}
	}
	return net.JoinHostPort(at, port), "", nil
}

func (s *ssh) address(host, listener string) string {
	way, known := s.ways[host]
	_, port, err := net.SplitHostPort(listener)
	if !known || err != nil {
		return listener
	}
	return net.JoinHostPort(way, port)
}

func (s *ssh) findWays(ctx context.Context) (map[string]string, error) {
	ways := map[string]string{}
	var errs []error
	for _, host := range s.hosts {
		way, err := s.findWay(ctx, host)
		if err != nil {
			err = fmt.Errorf("host %s: %w; say with --agents-listen HOST:PORT by which address of this machine the hosts reach it", host, err)
		}
		ways[host], errs = way, append(errs, err)
	}
	return ways, errors.Join(errs...)
}

// findWay returns the address from which this machine sends to a host: the kernel chooses one when
// a UDP socket is connected, without a packet.
func (s *ssh) findWay(ctx context.Context, host string) (string, error) {
	c, err := s.config(ctx, host)
	if err != nil {
		return "", err
	}
	for _, key := range []string{"proxyjump", "proxycommand"} {
		if c[key] != "" && c[key] != "none" {
			return "", fmt.Errorf("ssh goes there by a way of its own (%s %s)", key, c[key])
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(c["hostname"], c["port"]))
	if err != nil {
		return "", fmt.Errorf("no way leads there from here: %w", err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String(), nil
}

// config returns ssh's options for a host, by name in lower case.
func (s *ssh) config(ctx context.Context, host string) (map[string]string, error) {
	args := append(s.words[1:len(s.words):len(s.words)], "-G", "--", host)
	out, err := exec.CommandContext(ctx, s.words[0], args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return nil, fmt.Errorf("ssh -G, which reads ssh's own configuration: %w", err)
	}
	return parseConfig(string(out)), nil
}

func parseConfig(text string) map[string]string {
	c := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, known := c[key]; !known {
			c[key] = value
		}
	}
	return c
}

// The remote side of ssh. The command is the same for every host, without single quotes and
// exclamation marks, so that any login shell passes it to sh unchanged. The rest comes over stdin:
// the expected output of uname, the agent's arguments up to an empty line, the join file up to a
// line "end", the program's size, and the program. sh's read consumes no more than a line; head may
// read ahead, so the program comes last. Afterwards stdin is silent until it ends, which stops the
// agent.
const (
	remoteJoin    = "join.pem"
	remoteProgram = "zkbench"
	remoteFolder  = "zkbench-agent."
)

// remoteLines are run by sh. The folder is removed however the agent ends, also if stdin ends
// before the program is complete. Signals are handled after the agent has ended, which it does
// because stdin ends with the connection.
var remoteLines = []string{
	`read -r want`,
	`is=$(uname -sm)`,
	`case "$want" in ""|"$is") ;; *) echo "this host is $is, and the program is for $want: start an agent built for it with --agents wait:N" >&2; exit 1;; esac`,
	`umask 077`,
	`clear() { cd / && rm -rf "$dir"; }`,
	`dir=$(mktemp -d "${TMPDIR:-/tmp}/` + remoteFolder + `XXXXXXXX") || exit 1`,
	`trap clear EXIT`,
	`trap "exit 1" HUP INT TERM PIPE`,
	`cd "$dir" || exit 1`,
	`while IFS= read -r word && [ "$word" ]; do set -- "$@" "$word"; done`,
	`while IFS= read -r line && [ "$line" != end ]; do printf "%s\n" "$line"; done >` + remoteJoin,
	`read -r size || exit 1`,
	`head -c "$size" >` + remoteProgram,
	`[ $(wc -c <` + remoteProgram + `) -eq "$size" ] || { echo "the program has not come whole: is $dir full?" >&2; exit 1; }`,
	`chmod 700 ` + remoteProgram,
	`./` + remoteProgram + ` "$@"`,
}

// remoteScript returns one line for any login shell.
func remoteScript() string { return "exec sh -c '" + strings.Join(remoteLines, "; ") + "'" }

// uname is the output of uname -sm where a program for GOOS/GOARCH runs. For other systems the
// host's kernel decides.
var uname = map[string]string{
	"linux/amd64":  "Linux x86_64",
	"linux/arm64":  "Linux aarch64",
	"darwin/amd64": "Darwin x86_64",
	"darwin/arm64": "Darwin arm64",
}

func remoteFeed(want string, args []string, j Join, program *io.SectionReader) io.Reader {
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s\n%s\n\n", want, strings.Join(args, "\n"))
	head.Write(j.Encode())
	fmt.Fprintf(&head, "end\n%d\n", program.Size())
	return io.MultiReader(&head, program)
}
