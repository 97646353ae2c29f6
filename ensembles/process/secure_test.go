//go:build linux

package process

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
)

func TestStart_securedByTLS(t *testing.T) {
	e := up(t, ensembles.Options{Members: 1, Tick: 500 * time.Millisecond, Secure: []string{"tls", "digest"}})
	m := e.Members[0]
	if s, err := ensembles.Ask(t.Context(), m); err != nil || s.Version == "" {
		t.Errorf("a member that is asked with TLS: %+v, %v", s, err)
	}
	if _, err := ensembles.Ask(check.Within(t, time.Second), &ensembles.Member{Addr: m.Addr}); err == nil {
		t.Error("it answers without TLS")
	}
	stranger := e.Security.TLS.Clone()
	stranger.Certificates, stranger.ClientSessionCache = nil, nil // nor a session of one who had a certificate
	s := ensembles.Security{TLS: stranger}
	if _, err := ensembles.Ask(check.Within(t, time.Second), &ensembles.Member{Addr: m.Addr, Dial: s.Dial}); err == nil {
		t.Error("it answers a client without a certificate")
	}
	other := e.Security.TLS.Clone()
	other.ServerName = "zk1.example.org"
	s = ensembles.Security{TLS: other}
	var name *tls.CertificateVerificationError
	if _, err := ensembles.Ask(t.Context(), &ensembles.Member{Addr: m.Addr, Dial: s.Dial}); !errors.As(err, &name) {
		t.Errorf("a member of another name: %v", err)
	}
	for _, file := range []string{"member.pem", "ca.pem"} {
		info, err := os.Stat(filepath.Join(memberDir(m.Machine.(*machine).record, m.Machine.(*machine).member), file))
		check.OK(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s is open to others: %v", file, info.Mode())
		}
	}
}

func TestStart_refusesWhatCannotBeSecured(t *testing.T) {
	for name, test := range map[string]struct {
		options ensembles.Options
		want    string
	}{
		"a word that is none":    {ensembles.Options{Secure: []string{"tsl"}}, `unknown security "tsl" of an ensemble: choose tls, digest`},
		"an ensemble to be kept": {ensembles.Options{Secure: []string{"tls"}, Keep: true}, "a kept ensemble"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Start(t.Context(), test.options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
