package setup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"path"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Secured holds the credentials that were created for a secured ensemble.
type Secured struct {
	Security ensembles.Security
	Files    map[string][]byte // by name, for every member, in a folder that only the member reads
}

const (
	caFile     = "ca.pem"     // the authority that members trust
	memberFile = "member.pem" // key and certificate of the members
)

// Secure creates the credentials that the record requires. The members must have their addresses.
func Secure(r *state.Record) (s Secured, err error) {
	if slices.Contains(r.Secure, "digest") {
		s.Security.Digest, s.Security.CreatorOnly = "zkbench:"+rand.Text(), true
	}
	if slices.Contains(r.Secure, "tls") {
		if err := s.certify(r); err != nil {
			return s, fmt.Errorf("making certificates: %w", err)
		}
	}
	return s, nil
}

func (s *Secured) certify(r *state.Record) error {
	ca, err := issue(nil, "zkbench "+r.ID, x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	if err != nil {
		return err
	}
	leaf := x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, // for published ports
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, m := range r.Members {
		leaf.IPAddresses = append(leaf.IPAddresses, net.ParseIP(m.IP))
	}
	member, err := issue(ca, "member", leaf)
	if err != nil {
		return err
	}
	leaf.IPAddresses = nil
	client, err := issue(ca, "client", leaf)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(member.PrivateKey)
	if err != nil {
		return err
	}
	s.Files = map[string][]byte{
		caFile:     block("CERTIFICATE", ca.Leaf.Raw),
		memberFile: append(block("PRIVATE KEY", key), block("CERTIFICATE", member.Leaf.Raw)...),
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	s.Security.TLS = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{*client}, MinVersion: tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(0)} // reconnecting clients can resume TLS sessions
	return nil
}

// issue returns a certificate for a new key, valid for a year, which by signs; nil means the certificate itself.
func issue(by *tls.Certificate, name string, template x509.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	parent, signer := &template, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// SecureLines returns the lines of a member's zoo.cfg for the record's requirements, with its files in dir.
func SecureLines(r *state.Record, m state.Member, dir string) (lines []string) {
	if slices.Contains(r.Secure, "tls") {
		lines = append(lines,
			"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
			fmt.Sprintf("secureClientPort=%d", m.Ports[0]),
			"secureClientPortAddress="+m.IP,
			"ssl.keyStore.type=PEM", "ssl.keyStore.location="+path.Join(dir, memberFile),
			"ssl.trustStore.type=PEM", "ssl.trustStore.location="+path.Join(dir, caFile),
			"ssl.clientAuth=need",
		)
	}
	if slices.Contains(r.Secure, "digest") {
		// ZooKeeper 3.7 and later: clients must authenticate.
		lines = append(lines, "enforce.auth.enabled=true", "enforce.auth.schemes=digest")
	}
	return lines
}
