package chaos

import (
	"bytes"
	"encoding/json"
	"io"
	"net/netip"
	"strings"
	"testing"
)

// agentIn runs an agent in the namespace until its input ends, and returns its answers.
func agentIn(t *testing.T, ns *namespace, in io.Reader) (answers []answer, err error) {
	t.Helper()
	var out bytes.Buffer
	ns.inside(t, func() error {
		err = runAgent(in, &out, "agent")
		return nil
	})
	lines := json.NewDecoder(&out)
	for {
		var a answer
		if lines.Decode(&a) != nil {
			return answers, err
		}
		answers = append(answers, a)
	}
}

func TestRunAgent_carriesOutOrders(t *testing.T) {
	ns := newNamespace(t)
	l := ns.listen(t, ns.there)
	in, orders := io.Pipe()
	go func() {
		enc := json.NewEncoder(orders)
		enc.Encode(order{Do: "cut", Rule: packetRule{Direction: inOnly, Peers: []netip.Addr{ns.here}}})
		enc.Encode(order{Do: "owners"})
		if connects(l) {
			t.Error("not cut")
		}
		enc.Encode(order{Do: "dropped", Cut: 1})
		enc.Encode(order{Do: "dropped", Cut: 7})
		enc.Encode(order{Do: "dance"})
		enc.Encode(order{Do: "cut", Rule: packetRule{Direction: "sideways"}})
		orders.Close()
	}()
	got, err := agentIn(t, ns, in)
	must(t, err)
	if len(got) != 7 || got[1].Cut != 1 || len(got[2].Owners) != 1 || got[2].Owners[0] != "agent" || got[3].Dropped == 0 {
		t.Fatalf("answers %+v", got)
	}
	for i, want := range []string{"cut 7 is healed or was never made", `does not know the order "dance"`, `"sideways" is unknown`} {
		if !strings.Contains(got[4+i].Err, want) {
			t.Errorf("no %q in %q", want, got[4+i].Err)
		}
	}
	if !connects(l) {
		t.Error("the end of its input did not heal what it cut")
	}
}

func TestRunAgent_healsOnGarbage(t *testing.T) {
	ns := newNamespace(t)
	l := ns.listen(t, ns.there)
	if _, err := agentIn(t, ns, strings.NewReader(`{"do":"cut"} what?`)); err == nil || !strings.Contains(err.Error(), "read an order") {
		t.Errorf("got %v", err)
	}
	if !connects(l) {
		t.Error("still cut")
	}
}

func FuzzAgentOrders(f *testing.F) {
	f.Add([]byte(`{"do":"heal","cut":3}`))
	f.Add([]byte(`{"do":"cut","rule":{"peers":["10.0.0.1","::1"],"except":["x"],"loss":-1}}`))
	f.Add([]byte(`{"do":"delay","delay":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var o order
		if json.Unmarshal(in, &o) != nil {
			return
		}
		if err := o.Rule.check(); err != nil {
			return
		}
		again, err := json.Marshal(o)
		must(t, err)
		var b order
		must(t, json.Unmarshal(again, &b))
		if o.Rule.String() != b.Rule.String() || o.Do != b.Do || o.Cut != b.Cut {
			t.Errorf("%+v became %+v", o, b)
		}
	})
}
