package chaos

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// side is a hook where packets are dropped, and the position of the other end's address in a
// packet.
type side struct {
	chain  string
	hook   *nftables.ChainHook
	iface  expr.MetaKey
	v4, v6 uint32 // offset of the peer's address in the network header
}

var (
	inbound  = side{"input", nftables.ChainHookInput, expr.MetaKeyIIFNAME, 12, 8}
	outbound = side{"output", nftables.ChainHookOutput, expr.MetaKeyOIFNAME, 16, 24}
)

// addChain queues the chain and the rules of one side.
func (f *filter) addChain(t *nftables.Table, r packetRule, s side) {
	accept := nftables.ChainPolicyAccept
	c := f.conn.AddChain(&nftables.Chain{
		Name: s.chain, Table: t, Type: nftables.ChainTypeFilter,
		Hooknum: s.hook, Priority: nftables.ChainPriorityFilter, Policy: &accept,
	})
	add := func(exprs ...expr.Any) {
		f.conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: exprs})
	}
	lo := append([]byte("lo"), make([]byte, 14)...) // interface names are 16 bytes
	add(&expr.Meta{Key: s.iface, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: lo},
		&expr.Verdict{Kind: expr.VerdictAccept})
	for _, a := range r.Except {
		add(append(s.match(a), &expr.Verdict{Kind: expr.VerdictAccept})...)
	}
	drop := append(r.choose(), &expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop})
	if len(r.Peers) == 0 {
		add(drop...)
	}
	for _, a := range r.Peers {
		add(append(s.match(a), drop...)...)
	}
}

// choose selects the packets to drop among the matching ones.
func (r packetRule) choose() []expr.Any {
	switch {
	case r.Loss > 0:
		return []expr.Any{
			&expr.Numgen{Register: 1, Modulus: lossSteps, Type: unix.NFT_NG_RANDOM},
			// The number is in the machine's byte order, and compared byte by byte.
			&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
			&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binary.BigEndian.AppendUint32(nil, uint32(r.Loss*lossSteps/100))},
		}
	case r.Rate > 0:
		return []expr.Any{&expr.Limit{Type: expr.LimitTypePktBytes, Rate: r.Rate, Unit: expr.LimitTimeSecond, Burst: r.burst(), Over: true}}
	}
	return nil
}

// burst is the number of bytes that may pass at once: a twentieth of a second's, and at least a few
// packets, or none would pass.
func (r packetRule) burst() uint32 { return uint32(min(max(r.Rate/20, 8<<10), 1<<20)) }

// match compares the other end's address.
func (s side) match(a netip.Addr) []expr.Any {
	a = a.Unmap()
	proto, offset := byte(unix.NFPROTO_IPV4), s.v4
	if a.Is6() {
		proto, offset = unix.NFPROTO_IPV6, s.v6
	}
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{proto}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: uint32(a.BitLen() / 8)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: a.AsSlice()},
	}
}
