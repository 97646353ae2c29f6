package agents

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// Join is the address of the coordinator and the credentials of an agent. It is passed in a file or
// a secret: its holder can be an agent of the run, which starts programs on its own machine only.
type Join struct {
	Address     string // host:port of the coordinator
	Version     string // of the coordinator, which must equal the agent's
	Authority   []byte // PEM: the certificate that signed the coordinator's
	Certificate []byte // PEM: the agent's
	Key         []byte // PEM: the agent's
}

// The names in the certificates of a run.
const (
	coordinatorName = "coordinator.zkbench"
	agentName       = "agent.zkbench"
)

// Headers of the first PEM block of a join file.
const (
	headerAddress = "Coordinator"
	headerVersion = "Version"
)

// Encode returns the content of a join file, in PEM.
func (j Join) Encode() []byte {
	block, _ := pem.Decode(j.Authority)
	block.Headers = map[string]string{headerAddress: j.Address, headerVersion: j.Version}
	return bytes.Join([][]byte{pem.EncodeToMemory(block), j.Certificate, j.Key}, nil)
}

// ParseJoin parses the content of a join file.
func ParseJoin(text []byte) (j Join, err error) {
	wrong := errors.New("not a join file: want the three PEM blocks that zkbench run --agents wrote")
	authority, rest := pem.Decode(text)
	if authority == nil {
		return j, wrong
	}
	certificate, rest := pem.Decode(rest)
	key, _ := pem.Decode(rest)
	if certificate == nil || key == nil || authority.Headers[headerAddress] == "" {
		return j, wrong
	}
	j.Address, j.Version = authority.Headers[headerAddress], authority.Headers[headerVersion]
	if _, _, err := net.SplitHostPort(j.Address); err != nil {
		return j, fmt.Errorf("the join file's coordinator is %q: want HOST:PORT", j.Address)
	}
	authority.Headers = nil
	for _, part := range []struct {
		block *pem.Block
		to    *[]byte
	}{{authority, &j.Authority}, {certificate, &j.Certificate}, {key, &j.Key}} {
		*part.to = pem.EncodeToMemory(part.block)
	}
	_, err = j.config()
	return j, err
}

// config returns the agent's TLS configuration.
func (j Join) config() (*tls.Config, error) {
	pair, err := tls.X509KeyPair(j.Certificate, j.Key)
	if err != nil {
		return nil, fmt.Errorf("the join file's certificate and key: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(j.Authority) {
		return nil, errors.New("the join file has no certificate of an authority")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ServerName: coordinatorName, MinVersion: tls.VersionTLS13}, nil
}

type credentials struct {
	server *tls.Config
	join   Join // without address and version
}

// validity is the time for which a run's certificates are valid before and after now: clocks of
// machines may differ.
const validity = 24 * time.Hour

// newCredentials creates an authority, which signs the keys of the coordinator and the agents. The
// authority's own key is discarded.
func newCredentials() (*credentials, error) {
	authority := template("zkbench run")
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	authorityPEM, _, err := signed(authority, authority, authorityKey, authorityKey)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authorityPEM)
	issue := func(name string, use x509.ExtKeyUsage) (certificate, key []byte, err error) {
		t := template(name)
		t.DNSNames, t.ExtKeyUsage, t.KeyUsage = []string{name}, []x509.ExtKeyUsage{use}, x509.KeyUsageDigitalSignature
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		return signed(t, authority, private, authorityKey)
	}
	certificate, key, err := issue(coordinatorName, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	c := &credentials{join: Join{Authority: authorityPEM}, server: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}}
	c.join.Certificate, c.join.Key, err = issue(agentName, x509.ExtKeyUsageClientAuth)
	return c, err
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // its reader never fails
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-validity), NotAfter: time.Now().Add(validity),
	}
}

func signed(t, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) (certificate, private []byte, err error) {
	der, err := x509.CreateCertificate(rand.Reader, t, by, &key.PublicKey, byKey)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}

// sameVersion returns an error if the agent cannot serve the coordinator.
func sameVersion(coordinator, agent string) error {
	if coordinator == agent {
		return nil
	}
	return fmt.Errorf("the agent is %s, and the coordinator is %s: have both be the same program", orUnknown(agent), orUnknown(coordinator))
}

func orUnknown(version string) string {
	if strings.TrimSpace(version) == "" {
		return "of an unknown version"
	}
	return version
}
