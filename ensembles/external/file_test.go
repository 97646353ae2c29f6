package external

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLoad_readsWhatAFileSays(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "password", "me:secret\n")
	o, err := Load(write(t, dir, "theirs.yaml", `
chroot: /team
digest_file: password
tls: {server_name: zk.example.org}
members:
  - {server: "zk1:2281", name: left, address: 192.0.2.1, stop: ["true", now], start: ["true"]}
  - {server: "zk2:2281"}
`))
	check.OK(t, err)
	if !reflect.DeepEqual(o.Servers, []string{"zk1:2281", "zk2:2281"}) || o.Chroot != "/team" {
		t.Errorf("got %+v", o)
	}
	s := o.External.Security
	if s.Digest != "me:secret" || !s.CreatorOnly || s.TLS == nil || s.TLS.ServerName != "zk.example.org" {
		t.Errorf("got %+v", s)
	}
	if c := o.External.Commands[0]; c.Name != "left" || Line(c.Stop) != "true now" || o.External.Commands[1].Any() {
		t.Errorf("got %+v", o.External.Commands)
	}
}

func TestLoad_saysWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"no members at all":               {"chroot: /a", "either servers or members"},
		"servers and members":             {"servers: [\"a:1\"]\nmembers: [{server: \"a:1\"}]", "either servers or members"},
		"a word that is none":             {"servers: [\"a:1\"]\nserver: b", "theirs.yaml:2:1: unknown field: server (zkbench help ensembles)"},
		"a group in place of a list":      {"servers: {a: b}", "theirs.yaml:1:10: found a group of fields instead of a list"},
		"a value in place of a group":     {"servers: [\"a:1\"]\ntls: 3", "theirs.yaml:2:6: found a single value instead of a group of fields"},
		"what is no YAML":                 {"servers: [", "theirs.yaml:2:1: did not find expected node content"},
		"two things that are wrong":       {"members: [{server: \"a:1\", stop: [\"true\"], log: []}]\nacl: mine", "theirs.yaml: members.0 (a:1): log is empty: write a program and its arguments, like [ssh, zk1, systemctl, stop, zookeeper]\n"},
		"the last of them":                {"members: [{server: \"a:1\", stop: [\"true\"], log: []}]\nacl: mine", "theirs.yaml: acl: \"mine\" is neither creator nor open (zkbench help ensembles)"},
		"two words that are none":         {"servers: [\"a:1\"]\nserver: b\nmember: c", "theirs.yaml:3:1: unknown field: member (zkbench help ensembles)"},
		"nothing":                         {"# later\n", "theirs.yaml: is empty"},
		"what nothing would undo":         {"members: [{server: \"a:1\", stop: [\"true\"]}]", "members.0 (a:1): it has a stop command but no start command"},
		"a program that is not there":     {"members: [{server: \"a:1\", log: [no-such-program]}]", "log: exec: \"no-such-program\""},
		"a command without a program":     {"members: [{server: \"a:1\", log: []}]", "log is empty"},
		"a placeholder that is none":      {"members: [{server: \"a:1\", isolate: [\"true\", \"{peer}\"], heal: [\"true\"]}]", "value for {peer}"},
		"a placeholder elsewhere":         {"members: [{server: \"a:1\", log: [\"true\", \"{peers}\"]}]", "value for {peers}"},
		"a name that is there twice":      {"members: [{server: \"a:1\", name: a}, {server: \"b:1\", name: a}]", "members.1: another member already has the name a"},
		"a digest without a password":     {"servers: [\"a:1\"]\ndigest: me", "must have the form user:password"},
		"a digest that is there twice":    {"servers: [\"a:1\"]\ndigest: a:b\ndigest_file: c", "set either digest or digest_file"},
		"an authority that is not there":  {"servers: [\"a:1\"]\ntls: {ca: none.pem}", "ca: open"},
		"a certificate without its key":   {"servers: [\"a:1\"]\ntls: {cert: none.pem}", "cert and key must be set together"},
		"nodes of a creator nobody knows": {"servers: [\"a:1\"]\nacl: creator", "acl: creator requires an identity: set digest, or tls with cert and key"},
		"a list of rights that is none":   {"servers: [\"a:1\"]\nacl: mine", "neither creator nor open"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(write(t, t.TempDir(), "theirs.yaml", test.text))
			check.Error(t, err, test.want, "theirs.yaml")
		})
	}
}
