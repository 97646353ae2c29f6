package agents

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// A link is a connection with multiplexed streams, each with its own flow control: a process that
// prints faster than the link waits, and nothing is lost.

const (
	// silenceLimit is the time for which a link may be silent before it is lost.
	silenceLimit   = 5 * time.Second
	handshakeLimit = 15 * time.Second
)

func linkConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval, c.ConnectionWriteTimeout = time.Second, silenceLimit
	c.StreamOpenTimeout = 0 // a slow link is not lost; silenceLimit decides
	c.LogOutput = io.Discard
	return c
}

// writeMessage writes a line of JSON, the first message on a stream.
func writeMessage(w io.Writer, message any) error {
	line, err := json.Marshal(message)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// readMessage reads a line of JSON and nothing after it.
func readMessage(r io.Reader, message any) error {
	var line []byte
	for b := make([]byte, 1); len(line) < maxMessage; line = append(line, b[0]) {
		if _, err := io.ReadFull(r, b); err != nil {
			return err
		}
		if b[0] == '\n' {
			return json.Unmarshal(line, message)
		}
	}
	return fmt.Errorf("the first message on the stream is longer than %d bytes", maxMessage)
}

// maxMessage bounds the first message of one end, in bytes.
const maxMessage = 64 << 10

func open(link *yamux.Session, o msg.Opening) (net.Conn, error) {
	s, err := link.OpenStream()
	if err != nil {
		return nil, err
	}
	if err := writeMessage(s, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// join copies in both directions until one of them ends, and closes both connections.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, ends := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(ends[0], ends[1])
			_, _ = a.Close(), b.Close()
		})
	}
	both.Wait()
}

const reachLimit = 3 * time.Second

// CheckReachable returns an error that names the live agents which cannot connect to all servers (host:port).
func (f *Fleet) CheckReachable(servers []string) error {
	alive := f.alive()
	errs := make([]error, len(alive))
	var wg sync.WaitGroup
	for i, p := range alive {
		wg.Go(func() { errs[i] = p.call("Reach", servers, nil) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Reach returns an error that names the servers which do not answer, with the cause for the first.
func (s *server) Reach(servers []string, _ *msg.Nothing) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			conn, err := net.DialTimeout("tcp", server, reachLimit)
			if err == nil {
				err = conn.Close()
			}
			errs[i] = err
		})
	}
	all.Wait()
	var unreachable []string
	var cause error
	for i, err := range errs {
		if err != nil {
			unreachable, cause = append(unreachable, servers[i]), cmp.Or(cause, err)
		}
	}
	if unreachable == nil {
		return nil
	}
	return fmt.Errorf("cannot reach %s at %s: %w", units.Plural(len(unreachable), "member"), strings.Join(unreachable, ", "), cause)
}

// Join is the address of the coordinator and the credentials of an agent. It is passed in a file or
// a secret: its holder can be an agent of the run, which starts programs on its own machine only.
type Join struct {
	Address     string // host:port of the coordinator
	Version     string // of the coordinator, which must equal the agent's
	Authority   []byte // PEM: the certificate that signed the coordinator's
	Certificate []byte // PEM: the agent's
	Key         []byte // PEM: the agent's
}

const (
	coordinatorName = "coordinator.zkbench"
	agentName       = "agent.zkbench"

	headerAddress = "Coordinator" // of the first PEM block of a join file
	headerVersion = "Version"
)

func (j Join) Encode() []byte {
	block, _ := pem.Decode(j.Authority)
	block.Headers = map[string]string{headerAddress: j.Address, headerVersion: j.Version}
	return bytes.Join([][]byte{pem.EncodeToMemory(block), j.Certificate, j.Key}, nil)
}

func ParseJoin(text []byte) (j Join, err error) {
	wrong := errors.New("not a join file: want the three PEM blocks that zkbench run --agents wrote")
	for _, part := range []*[]byte{&j.Authority, &j.Certificate, &j.Key} {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return j, wrong
		}
		if part == &j.Authority {
			j.Address, j.Version = block.Headers[headerAddress], block.Headers[headerVersion]
			block.Headers = nil
		}
		*part = pem.EncodeToMemory(block)
	}
	if j.Address == "" {
		return j, wrong
	}
	if _, _, err := net.SplitHostPort(j.Address); err != nil {
		return j, fmt.Errorf("the join file's coordinator is %q: want HOST:PORT", j.Address)
	}
	_, err = j.config()
	return j, err
}

func (j Join) config() (*tls.Config, error) {
	pair, err := tls.X509KeyPair(j.Certificate, j.Key)
	if err != nil {
		return nil, fmt.Errorf("invalid certificate or key in the join file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(j.Authority) {
		return nil, errors.New("the join file has no CA certificate")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ServerName: coordinatorName, MinVersion: tls.VersionTLS13}, nil
}

type credentials struct {
	server *tls.Config
	join   Join // without address and version
}

// validity is the validity of a run's certificates before and after now: machines' clocks may differ.
const validity = 24 * time.Hour

// newCredentials creates an authority, which signs the others' keys. Its own key is discarded.
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

func checkVersion(coordinator, agent string) error {
	if coordinator == agent {
		return nil
	}
	return fmt.Errorf("the agent is %s, but the coordinator is %s: use the same program for both", agent, coordinator)
}
