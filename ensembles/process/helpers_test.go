//go:build linux

package process

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"strconv"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/zkbench/zkbench/ensembles/state"
)

func itoa(n int) string { return strconv.Itoa(n) }

// planned is a record of that many members whose network is planned.
func planned(members int) *state.Record {
	id := make([]byte, 4)
	_, _ = rand.Read(id)
	r := &state.Record{ID: hex.EncodeToString(id)}
	for i := range members {
		r.Members = append(r.Members, state.Member{Name: "zk" + itoa(i+1), ID: i + 1})
	}
	planNetwork(r)
	return r
}

// mayMakeNetworks tells whether the kernel lets us make network namespaces. Any
// other reason why they cannot be made is a failure: it must not turn tests off.
func mayMakeNetworks(t *testing.T) bool {
	t.Helper()
	r := planned(1)
	err := setUpNetwork(t.Context(), r)
	if errors.Is(err, fs.ErrPermission) {
		return false
	}
	ok(t, err)
	ok(t, tearDownNetwork(r))
	return true
}

func needsRights(t *testing.T) {
	t.Helper()
	if !mayMakeNetworks(t) {
		t.Skip("we may not make network namespaces here")
	}
}

func linkNamed(t *testing.T, name string) netlink.Link {
	t.Helper()
	link, err := netlink.LinkByName(name)
	ok(t, err)
	return link
}
