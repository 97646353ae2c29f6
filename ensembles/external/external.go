// Package external uses an ensemble that zkbench did not start. Its members are controlled only by
// commands, which a file lists for each member.
//
//	o, err := external.Load("ensemble.yaml") // or ensembles.Options{Servers: ...}
//	...
//	e, err := external.Start(ctx, o)
package external

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/safefile"
	"go.yaml.in/yaml/v4"
)

const defaultChroot = "/zkbench"

const askTimeout = 5 * time.Second

// Check validates addresses, chroot and number of members, without connecting.
func Check(o ensembles.Options) error {
	_, _, err := read(o)
	return err
}

func read(o ensembles.Options) (members []*ensembles.Member, chroot string, err error) {
	if members, err = parse(o.Servers); err != nil {
		return nil, "", err
	}
	if chroot, err = checkChroot(o.Chroot); err != nil {
		return nil, "", err
	}
	if o.Members != 0 && o.Members != len(members) {
		return nil, "", fmt.Errorf("--members is %d, but --servers lists %d: list one server for each member, or omit --members", o.Members, len(members))
	}
	return members, chroot, nil
}

// Start checks the addresses, queries every member for its status, and returns the ensemble. A member
// that refuses srvr counts as a voting member; the error names all unusable members. Down does
// nothing.
func Start(ctx context.Context, o ensembles.Options) (*ensembles.Ensemble, error) {
	members, chroot, err := read(o)
	if err != nil {
		return nil, err
	}
	applyConfig(members, o.External)
	servers, err := askAll(ctx, members)
	if err != nil {
		return nil, err
	}
	var versions []string
	for i, m := range members {
		m.Observer = servers[i].Mode == ensembles.ModeObserver
		versions = append(versions, servers[i].Version)
	}
	slices.Sort(versions)
	version := strings.Join(slices.Compact(slices.DeleteFunc(versions, func(v string) bool { return v == "" })), ", ")
	e := &ensembles.Ensemble{
		ID:       "external",
		Kind:     ensembles.External,
		About:    about(version, o.Servers),
		Version:  version,
		Tick:     o.Tick,
		Chroot:   chroot,
		Members:  members,
		Security: o.External.Security,
		Down:     func(context.Context) error { return nil },
	}
	if o.Logf != nil {
		o.Logf("%s; zkbench's znodes are below %s", e.About, chroot)
	}
	return e, nil
}

func about(version string, servers []string) string {
	if version == "" {
		version = "of unknown version (the members do not answer srvr: 4lw.commands.whitelist)"
	}
	return fmt.Sprintf("external ensemble %s, ZooKeeper %s", strings.Join(servers, ","), version)
}

func parse(servers []string) ([]*ensembles.Member, error) {
	if len(servers) == 0 {
		return nil, errors.New("an external ensemble needs --servers host:port[,host:port]")
	}
	var members []*ensembles.Member
	for i, server := range servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			return nil, fmt.Errorf("--servers %q: %w (write host:port, for example 192.0.2.1:2181; set a chroot with --chroot)", server, err)
		}
		if i := strings.IndexByte(port, '/'); i >= 0 {
			return nil, fmt.Errorf("--servers %q: set the path with --chroot: --servers %s --chroot %s", server, net.JoinHostPort(host, port[:i]), port[i:])
		}
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("--servers %q: %q is not a port (1 to 65535)", server, port)
		}
		if host == "" {
			return nil, fmt.Errorf("--servers %q: the host is missing", server)
		}
		if slices.Contains(servers[:i], server) {
			return nil, fmt.Errorf("--servers: %q is listed twice", server)
		}
		members = append(members, &ensembles.Member{Name: fmt.Sprintf("zk%d", i+1), ID: i + 1, Addr: server, IP: host})
	}
	return members, nil
}

func applyConfig(members []*ensembles.Member, t ensembles.ExternalConfig) {
	for i, m := range members {
		m.External = true
		if t.Security.TLS != nil {
			m.Dial = t.Security.Dial
		}
		if i >= len(t.Commands) {
			continue
		}
		c := t.Commands[i]
		m.Name, m.IP = cmp.Or(c.Name, m.Name), cmp.Or(c.Address, m.IP)
		if !c.Any() {
			continue
		}
		machine := &commandMachine{member: m, commands: c}
		m.Machine = machine
		if c.Isolate != nil {
			m.Cutter = machine
		}
	}
}

// checkChroot returns the chroot to use. The root of an external tree must not be used.
func checkChroot(chroot string) (string, error) {
	if chroot == "" {
		return defaultChroot, nil
	}
	if chroot == "/" || !strings.HasPrefix(chroot, "/") || path.Clean(chroot) != chroot {
		return "", fmt.Errorf("chroot %q: give an absolute path below the root, such as %s", chroot, defaultChroot)
	}
	return chroot, nil
}

// askAll returns every member's status. Its error names each unusable member: while one member is
// down, the others may be electing a leader.
func askAll(ctx context.Context, members []*ensembles.Member) ([]ensembles.Server, error) {
	servers, errs := make([]ensembles.Server, len(members)), make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { servers[i], errs[i] = ask(ctx, m) })
	}
	all.Wait()
	return servers, errors.Join(errs...)
}

func ask(ctx context.Context, m *ensembles.Member) (ensembles.Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer in %v", askTimeout))
	defer cancel()
	server, err := ensembles.Ask(ctx, m)
	if errors.Is(err, ensembles.ErrNotWhitelisted) || errors.Is(err, ensembles.ErrEmptyReply) && checkSession(ctx, m) == nil {
		return ensembles.Server{}, nil
	}
	if err != nil {
		return ensembles.Server{}, fmt.Errorf("a member cannot be used: %w (is the member up and reachable from here, and is this its client port?)", err)
	}
	return server, nil
}

// checkSession checks a member that does not report its status, by opening and closing a session.
func checkSession(ctx context.Context, m *ensembles.Member) error {
	conn, events, err := zk.Connect([]string{m.Addr}, askTimeout,
		zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false),
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return m.Connect(ctx) }))
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return nil
			}
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s did not accept a session", m.Addr), context.Cause(ctx))
		}
	}
}

type file struct {
	Servers []string `yaml:"servers,flow"` // client addresses; excludes members
	Chroot  string   `yaml:"chroot"`
	TLS     *tlsFile `yaml:"tls"`
	Digest  string   `yaml:"digest"`
	From    string   `yaml:"digest_file"` // a file that contains the digest
	ACL     string   `yaml:"acl"`         // creator or open; default creator if clients authenticate
	Members []member `yaml:"members"`
}

type member struct {
	Server             string `yaml:"server"` // client address
	ensembles.Commands `yaml:",inline"`
}

type tlsFile struct {
	CA   string `yaml:"ca"`   // default: the system's
	Cert string `yaml:"cert"` // the client's certificate; requires key
	Key  string `yaml:"key"`
	Name string `yaml:"server_name"` // name in the members' certificates; default their hosts
}

// Load reads a file that describes an external ensemble.
func Load(path string) (o ensembles.Options, err error) {
	text, err := safefile.Read(path, safefile.Config)
	if err != nil {
		return o, err
	}
	var f file
	if err := yaml.Load(text, &f, yaml.WithKnownFields()); err != nil {
		return o, fileError(path, loadProblems(err))
	}
	o, problems := f.options(filepath.Dir(path))
	if len(problems) > 0 {
		return o, fileError(path, problems)
	}
	o.External.File = path
	return o, nil
}

// problem is a problem of a file. Its place is ":LINE:COLUMN" or "".
type problem struct {
	place string
	err   error
}

func fileError(path string, problems []problem) error {
	var all []error
	for _, p := range problems {
		all = append(all, fmt.Errorf("%s%s: %w", path, p.place, p.err))
	}
	return fmt.Errorf("%w (zkbench help ensembles)", errors.Join(all...))
}

// The YAML library's messages about values that do not fit.
var (
	unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
	wrongKind    = regexp.MustCompile("^cannot construct !!(\\S+)( `.*`)? into (\\S+)$")
)

func loadProblems(err error) []problem {
	all, several := errors.AsType[*yaml.LoadErrors](err)
	if one, ok := errors.AsType[*yaml.LoadError](err); ok && !several {
		all = &yaml.LoadErrors{Errors: []*yaml.LoadError{one}}
	} else if !several {
		return []problem{{err: err}}
	}
	var out []problem
	for _, e := range all.Errors {
		p := problem{err: errors.New(plain(e.Message))}
		if e.Mark.Line > 0 {
			p.place = fmt.Sprintf(":%d:%d", e.Mark.Line, e.Mark.Column)
		}
		out = append(out, p)
	}
	return out
}

// plain rewrites a message of the YAML library without names of Go types.
func plain(message string) string {
	if strings.Contains(message, "no documents in stream") {
		return "is empty"
	}
	if m := unknownField.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("unknown field: %s", m[1])
	}
	if m := wrongKind.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("found %s instead of %s", cmp.Or(kinds[m[1]], "a single value"), cmp.Or(kinds[m[3]], "a group of fields"))
	}
	return message
}

// kinds names the kinds of values, by the tag of YAML or the type of Go.
var kinds = map[string]string{
	"map": "a group of fields", "seq": "a list", "[]string": "a list", "[]external.member": "a list", "string": "a text",
}

func (f file) options(dir string) (o ensembles.Options, problems []problem) {
	o = ensembles.Options{Kind: ensembles.External, Servers: f.Servers, Chroot: f.Chroot}
	bad := func(format string, args ...any) {
		problems = append(problems, problem{err: fmt.Errorf(format, args...)})
	}
	if (len(f.Servers) > 0) == (len(f.Members) > 0) {
		bad("give either servers or members; members are for ensembles with commands")
	}
	for i, m := range f.Members {
		o.Servers = append(o.Servers, m.Server)
		o.External.Commands = append(o.External.Commands, m.Commands)
		if m.Name != "" && slices.ContainsFunc(f.Members[:i], func(other member) bool { return other.Name == m.Name }) {
			bad("members.%d: another member already has the name %s", i, m.Name)
		}
		for _, err := range validate(m.Commands) {
			bad("members.%d (%s): %w", i, m.Server, err)
		}
	}
	o.External.Security = f.security(dir, bad)
	return o, problems
}

// pairs are pairs of commands: the second undoes the first.
var pairs = [][2]string{{"stop", "start"}, {"kill", "start"}, {"pause", "resume"}, {"isolate", "heal"}}

var placeholder = regexp.MustCompile(`\{[a-z]*\}`)

func validate(c ensembles.Commands) []error {
	var out []error
	words := c.ByWord()
	for _, pair := range pairs {
		if words[pair[0]] != nil && words[pair[1]] == nil {
			out = append(out, fmt.Errorf("it has a %s command but no %s command, so the fault could not be undone", pair[0], pair[1]))
		}
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if args := words[word]; args != nil {
			out = append(out, command(word, args)...)
		}
	}
	return out
}

func command(word string, args []string) []error {
	if len(args) == 0 {
		return []error{fmt.Errorf("%s is empty: write a program and its arguments, like [ssh, zk1, systemctl, stop, zookeeper]", word)}
	}
	var out []error
	if _, err := exec.LookPath(args[0]); err != nil {
		out = append(out, fmt.Errorf("%s: %w (no shell is used: write the program, then each argument separately)", word, err))
	}
	for _, p := range placeholder.FindAllString(strings.Join(args, " "), -1) {
		if word != "isolate" || !slices.Contains([]string{"{peers}", "{except}", "{direction}"}, p) {
			out = append(out, fmt.Errorf("%s: there is no value for %s; only isolate can use {peers}, {except} and {direction}", word, p))
		}
	}
	return out
}

func (f file) security(dir string, bad func(format string, args ...any)) (s ensembles.Security) {
	var err error
	if s.Digest, err = f.digest(dir); err != nil {
		bad("%w", err)
	}
	if f.TLS != nil {
		if s.TLS, err = f.TLS.config(dir); err != nil {
			bad("tls: %w", err)
		}
	}
	known := f.Digest != "" || f.From != "" || f.TLS != nil && f.TLS.Cert != ""
	switch f.ACL {
	case "":
		s.CreatorOnly = s.Digest != ""
	case "open":
	case "creator":
		if s.CreatorOnly = known; !known {
			bad("acl: creator requires an identity: set digest, or tls with cert and key")
		}
	default:
		bad("acl: %q is neither creator nor open", f.ACL)
	}
	return s
}

func (f file) digest(dir string) (string, error) {
	digest := f.Digest
	if f.From != "" {
		if digest != "" {
			return "", errors.New("set either digest or digest_file, not both")
		}
		text, err := safefile.Read(within(dir, f.From), safefile.Config)
		if err != nil {
			return "", fmt.Errorf("digest_file: %w", err)
		}
		digest = strings.TrimRight(string(text), "\r\n")
	}
	user, password, ok := strings.Cut(digest, ":")
	if (f.Digest != "" || f.From != "") && (!ok || user == "" || password == "") {
		return "", errors.New("digest: must have the form user:password")
	}
	return digest, nil
}

func (t tlsFile) config(dir string) (*tls.Config, error) {
	c := &tls.Config{ServerName: t.Name, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if t.CA != "" {
		text, err := safefile.Read(within(dir, t.CA), safefile.Config)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ca: %s does not contain a PEM certificate", t.CA)
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, errors.New("cert and key must be set together")
	}
	if t.Cert != "" {
		certText, certErr := safefile.Read(within(dir, t.Cert), safefile.Config)
		keyText, keyErr := safefile.Read(within(dir, t.Key), safefile.Config)
		if err := errors.Join(certErr, keyErr); err != nil {
			return nil, fmt.Errorf("cert, key: %w", err)
		}
		cert, err := tls.X509KeyPair(certText, keyText)
		if err != nil {
			return nil, fmt.Errorf("cert, key: %w", err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
