package setup

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestZooCfg_ofASecuredMember(t *testing.T) {
	m := state.Member{Name: "zk1", ID: 1, IP: "198.18.0.2", Ports: [3]int{2181, 2888, 3888}}
	r := &state.Record{Tick: time.Second, Members: []state.Member{m}, Secure: []string{"tls", "digest"}}
	check.Contains(t, ZooCfg(r, m, true, SecureLines(r, m, "/conf")...),
		"secureClientPort=2181\n", "secureClientPortAddress=198.18.0.2\n", "ssl.clientAuth=need\n",
		"ssl.keyStore.location=/conf/member.pem\n", "enforce.auth.schemes=digest\n", "server.1=198.18.0.2:2888:3888\n")
	s, err := Secure(r)
	if err != nil || s.Security.TLS == nil || !s.Security.CreatorOnly || !strings.Contains(s.Security.Digest, ":") || len(s.Files) != 2 {
		t.Errorf("got %+v, %v", s, err)
	}
}
