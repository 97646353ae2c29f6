package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
