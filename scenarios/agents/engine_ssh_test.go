package agents

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseSSH(t *testing.T) {
	for _, row := range []struct{ text, wrong string }{
		{"ssh:h1", ""},
		{"ssh:h1,root@h2,fe80::1", ""},
		{"ssh:", `"" is no host`},
		{"ssh:h1,,h2", `"" is no host`},
		{"ssh:h1,-oProxyCommand=x", `"-oProxyCommand=x" is no host`},
		{"ssh:ssh://h1:22", `is no host`},
		{"ssh:h1, h2", `" h2" is no host`},
		{"ssh:h1,h2,h1", `host h1 is named twice`},
	} {
		e, err := ParseEngine(row.text, Place{})
		switch {
		case row.wrong == "" && err != nil:
			t.Errorf("%s: %v", row.text, err)
		case row.wrong == "" && e.Agents() != len(strings.Split(row.text, ",")):
			t.Errorf("%s: %d agents", row.text, e.Agents())
		case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)):
			t.Errorf("%s: error %v, want %q", row.text, err, row.wrong)
		}
	}
}

func TestParseSSH_byTheEnvironment(t *testing.T) {
	t.Setenv(SSHKey, `ssh -F '/a folder/config' -p 2222`)
	e, err := parseSSH("h1", Place{})
	if err != nil {
		t.Fatal(err)
	}
	got := e.(*ssh).command("h1", "true")
	if want := []string{"ssh", "-F", "/a folder/config", "-p", "2222"}; !slices.Equal(got[:5], want) || !slices.Equal(got[len(got)-3:], []string{"--", "h1", "true"}) {
		t.Errorf("command %q", got)
	}
	for _, wrong := range []string{"ssh 'x", " "} {
		t.Setenv(SSHKey, wrong)
		if _, err := parseSSH("h1", Place{}); err == nil || !strings.Contains(err.Error(), SSHKey) {
			t.Errorf("%q: error %v, which names no %s", wrong, err, SSHKey)
		}
	}
}

// configured has ssh read this configuration.
func configured(t *testing.T, text string) {
	t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Fatal("ssh is missing: .ci/setup test installs it")
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(SSHKey, "ssh -F "+file)
}

func TestSSH_Reach(t *testing.T) {
	configured(t, `
Host near
  HostName 127.0.0.1
Host behind
  HostName 127.0.0.1
  ProxyJump near
Host nameless
  HostName no.such.name.invalid
`)
	for _, row := range []struct{ hosts, at, listen, wrong string }{
		{"near", "", "127.0.0.1:0", ""},
		{"near,behind", "", "", "host behind: ssh goes there by a way of its own (proxyjump near); say with --agents-listen"},
		{"near,nameless", "", "", "host nameless: no way leads there from here"},
		{"near,behind,nameless", "192.0.2.7:7000", "192.0.2.7:7000", ""}, // what was said is not asked for
		{"near", "0.0.0.0:7000", "0.0.0.0:7000", ""},
		{"near", "7000", "", "want HOST:PORT"},
	} {
		e, err := parseSSH(row.hosts, Place{Listen: row.at})
		if err != nil {
			t.Fatal(err)
		}
		listen, host, err := e.Reach(context.Background())
		switch {
		case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)):
			t.Errorf("%s at %q: error %v, want %q", row.hosts, row.at, err, row.wrong)
		case row.wrong == "" && (err != nil || listen != row.listen || host != ""):
			t.Errorf("%s at %q: listen on %s, called %q, %v; want %s", row.hosts, row.at, listen, host, err, row.listen)
		}
	}
}

func TestSSH_address(t *testing.T) {
	s := &ssh{ways: map[string]string{"h1": "192.0.2.1", "h2": "2001:db8::1"}}
	for _, row := range []struct{ host, listener, want string }{
		{"h1", "[::]:7000", "192.0.2.1:7000"},
		{"h2", "[::]:7000", "[2001:db8::1]:7000"},
		{"h3", "198.51.100.1:7000", "198.51.100.1:7000"}, // somebody has said where to listen
	} {
		if got := s.address(row.host, row.listener); got != row.want {
			t.Errorf("%s dials %s of a listener at %s, want %s", row.host, got, row.listener, row.want)
		}
	}
}

// aJoin is one that can be read.
func aJoin(t *testing.T) Join {
	t.Helper()
	c, err := newCredentials()
	if err != nil {
		t.Fatal(err)
	}
	j := c.join
	j.Address, j.Version = "192.0.2.1:7000", "zkbench of a test"
	return j
}

// shells are those of users that may be found on hosts.
var shells = []string{"sh", "dash", "bash", "zsh", "ksh", "fish", "tcsh", "busybox sh"}

// remotely runs what a host's login shell would, with stdin, and returns what it printed.
// Its temporary folder must be empty afterwards.
func remotely(t *testing.T, shell string, stdin io.Reader) (stdout, stderr string, err error) {
	t.Helper()
	words := append(strings.Fields(shell), "-c", remoteScript())
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Skip(err)
	}
	tmp := t.TempDir()
	var out, complaint bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = []string{"TMPDIR=" + tmp, "PATH=" + os.Getenv("PATH"), "HOME=" + tmp}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &complaint
	err = cmd.Run()
	left, listErr := os.ReadDir(tmp)
	if listErr != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, listErr)
	}
	return out.String(), complaint.String(), err
}

// aProgram says how it was called, until its stdin ends.
const aProgram = `#!/bin/sh
printf '<%s>' "$@"; echo
stat -c '%a' . join.pem zkbench
cat join.pem
cat
exit 7
`

func feedOf(t *testing.T, want string, args ...string) (j Join, feed io.Reader) {
	t.Helper()
	j = aJoin(t)
	program := strings.NewReader(aProgram)
	return j, remoteFeed(want, args, j, io.NewSectionReader(program, 0, program.Size()))
}

func TestRemoteScript(t *testing.T) {
	for _, shell := range shells {
		t.Run(shell, func(t *testing.T) {
			args := []string{"--name", `user@h-1`, `two words "$HOME" 'x' \n *`}
			j, feed := feedOf(t, "", args...)
			stdout, stderr, err := remotely(t, shell, feed)
			if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 7 {
				t.Errorf("%v, want the program's exit code, 7", err)
			}
			head := "<" + strings.Join(args, "><") + ">\n700\n600\n700\n"
			if want := head + string(j.Encode()); stdout != want || stderr != "" {
				t.Errorf("it printed %q and complained %q, want %q", stdout, stderr, want)
			}
		})
	}
}

func TestRemoteScript_doesNotRun(t *testing.T) {
	cut := func(feed io.Reader) io.Reader { // what comes of it when ssh is killed
		all, err := io.ReadAll(feed)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.NewReader(all[:len(all)-3])
	}
	_, other := feedOf(t, "Plan9 mips")
	_, whole := feedOf(t, "")
	for _, row := range []struct {
		name  string
		stdin io.Reader
		wrong string
	}{
		{"on another kind of machine", other, "and the program is for Plan9 mips"},
		{"what has not come whole", cut(whole), "the program has not come whole"},
		{"what has not come at all", strings.NewReader(""), ""},
		{"what has ended in the join file", strings.NewReader("\nagent\n\n-----BEGIN"), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			stdout, stderr, err := remotely(t, "sh", row.stdin)
			if err == nil || stdout != "" || !strings.Contains(stderr, row.wrong) {
				t.Errorf("%v, printed %q, complained %q, want %q", err, stdout, stderr, row.wrong)
			}
		})
	}
}
