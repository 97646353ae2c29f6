//go:build linux

package process

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
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
	security := e.Security.TLS.Clone()
	stranger := &ensembles.Member{Addr: m.Addr, Dial: ensembles.Security{TLS: security}.Dial}
	security.Certificates, security.ClientSessionCache = nil, nil // nor a session of one who had a certificate
	if _, err := ensembles.Ask(check.Within(t, time.Second), stranger); err == nil {
		t.Error("it answers a client without a certificate")
	}
	security = e.Security.TLS.Clone()
	security.ServerName = "zk1.example.org"
	other := &ensembles.Member{Addr: m.Addr, Dial: ensembles.Security{TLS: security}.Dial}
	var name *tls.CertificateVerificationError
	if _, err := ensembles.Ask(t.Context(), other); !errors.As(err, &name) {
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
