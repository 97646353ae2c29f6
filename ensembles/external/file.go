package external

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/safefile"
)

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
	var all *yaml.LoadErrors
	var one *yaml.LoadError
	if !errors.As(err, &all) {
		if !errors.As(err, &one) {
			return []problem{{err: err}}
		}
		all = &yaml.LoadErrors{Errors: []*yaml.LoadError{one}}
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
		return fmt.Sprintf("found %s instead of %s", foundKind(m[1]), wantedKind(m[3]))
	}
	return message
}

func foundKind(tag string) string {
	switch tag {
	case "map":
		return "a group of fields"
	case "seq":
		return "a list"
	}
	return "a single value"
}

func wantedKind(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case goType == "string":
		return "a text"
	}
	return "a group of fields"
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
