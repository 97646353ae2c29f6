package wire

import (
	"reflect"
	"testing"
)

// Every number in Counts must be added, subtracted and named: a new field that
// is not in scalars fails here.
func TestCounts_namesAllFields(t *testing.T) {
	var c Counts
	var walk func(v reflect.Value) int
	walk = func(v reflect.Value) int {
		if v.Kind() == reflect.Int64 {
			v.SetInt(3)
			return 1
		}
		n := 0
		for i := range v.NumField() {
			if v.Field(i).Kind() != reflect.Array {
				n += walk(v.Field(i))
			}
		}
		return n
	}
	if n := walk(reflect.ValueOf(&c).Elem()); n != len(c.scalars()) {
		t.Errorf("Counts has %d numbers, scalars names %d", n, len(c.scalars()))
	}
	for _, s := range c.scalars() {
		if *s.n != 3 {
			t.Errorf("%s is named twice or points elsewhere", s.name)
		}
		*s.n = 0
	}
}

func TestCounts_addsAndSubtracts(t *testing.T) {
	var before, after Counts
	before.Requests[Create.slot()], after.Requests[Create.slot()] = 2, 5
	before.Requests[Ping.slot()], after.Requests[Ping.slot()] = 1, 4
	before.BytesIn, after.BytesIn = 10, 30
	before.InFlight, after.InFlight = 7, 2
	before.Notifications.Child, after.Notifications.Child = 1, 2
	d := after.Sub(before)
	if d.Requests.Of(Create) != 3 || d.BytesIn != 20 || d.InFlight != 2 || d.Notifications.Total() != 1 {
		t.Errorf("difference: %v", d.Map())
	}
	if d.Requests.Total() != 3 {
		t.Errorf("pings are among the %d requests", d.Requests.Total())
	}
	if sum := d.Add(d); sum.Requests.Of(Create) != 6 || sum.InFlight != 4 || sum.BytesIn != 40 {
		t.Errorf("sum: %v", sum.Map())
	}
}

func TestOp_hasANameAndASlot(t *testing.T) {
	for op, want := range map[Op]string{
		Create: "create", CloseSession: "closeSession", WhoAmI: "whoAmI", Any: "any",
		Op(42): "op 42", Op(-12): "op -12", Op(1 << 30): "op 1073741824",
	} {
		if got := op.String(); got != want {
			t.Errorf("opcode %d is called %q, want %q", int32(op), got, want)
		}
	}
	for i, k := range opcodes[1:] {
		if k.op.slot() != i+1 {
			t.Errorf("%v is counted as %v", k.op, opcodes[k.op.slot()].op)
		}
	}
}

// Map returns the counts that are not 0 by name, for the messages of tests:
// "requests.create", "errors.delete", "notifications.child", "bytes.in".
func (c Counts) Map() map[string]int64 {
	m := make(map[string]int64)
	put := func(name string, n int64) {
		if n != 0 {
			m[name] = n
		}
	}
	for i, k := range opcodes {
		put("requests."+k.name, c.Requests[i])
		put("errors."+k.name, c.Errors[i])
	}
	for _, s := range c.scalars() {
		put(s.name, *s.n)
	}
	return m
}
