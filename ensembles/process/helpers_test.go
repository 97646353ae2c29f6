package process

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"testing"

	"github.com/vishvananda/netlink"

	"zkbench/ensembles/state"
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

// needsRights skips the test where no network namespace can be made.
func needsRights(t *testing.T) {
	t.Helper()
	r := planned(1)
	if err := setUpNetwork(t.Context(), r); err != nil {
		t.Skip("no network namespaces here:", err)
	}
	ok(t, tearDownNetwork(r))
}

func linkNamed(t *testing.T, name string) netlink.Link {
	t.Helper()
	link, err := netlink.LinkByName(name)
	ok(t, err)
	return link
}
