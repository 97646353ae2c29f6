package chaos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// tables returns all of our tables in the namespace, of any owner.
func (f *filter) tables() ([]*nftables.Table, error) {
	all, err := f.conn.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return nil, fmt.Errorf("list packet filter tables: %w", err)
	}
	return slices.DeleteFunc(all, func(t *nftables.Table) bool { return !strings.HasPrefix(t.Name, tablePrefix) }), nil
}

// owner returns the owner of one of our tables. It may contain slashes; the number after it does
// not.
func owner(t *nftables.Table) string {
	name := strings.TrimPrefix(t.Name, tablePrefix)
	return name[:max(0, strings.LastIndexByte(name, '/'))]
}

func (f *filter) owners() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tables, err := f.tables()
	var out []string
	for _, t := range tables {
		out = append(out, owner(t))
	}
	return out, err
}

// sweep removes the tables of a dead owner and returns their number. If the owner is alive after
// all, in another process namespace, the kernel refuses.
func (f *filter) sweep(dead string) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tables, err := f.tables()
	for _, t := range tables {
		if owner(t) != dead {
			continue
		}
		f.conn.DelTable(t)
		switch err := f.conn.Flush(); {
		case err == nil:
			n++
		case !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOENT):
			return n, fmt.Errorf("sweep: delete table %s: %w", t.Name, err)
		}
	}
	return n, err
}

// newTable adds a table that the kernel removes when our socket closes. The library cannot set a
// table's flags, so the message is written here. Kernels before 5.12 do not support owners: there
// the table stays until it is healed or swept.
func (f *filter) newTable(t *nftables.Table) error {
	if !f.plain {
		err := f.sendNewTable(t.Name, tableOwned)
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
			return err
		}
		f.plain = true
	}
	return f.sendNewTable(t.Name, 0)
}

func (f *filter) sendNewTable(name string, flags uint32) error {
	attrs, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.NFTA_TABLE_NAME, Data: []byte(name + "\x00")},
		{Type: unix.NFTA_TABLE_FLAGS, Data: binary.BigEndian.AppendUint32(nil, flags)},
	})
	if err != nil {
		return err
	}
	// An nfgenmsg: family, version, resource ID (the subsystem for a batch).
	batch := []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, unix.NFNL_SUBSYS_NFTABLES}
	table := append([]byte{unix.NFPROTO_INET, unix.NFNETLINK_V0, 0, 0}, attrs...)
	_, err = f.raw.SendMessages([]netlink.Message{
		{Header: netlink.Header{Type: unix.NFNL_MSG_BATCH_BEGIN, Flags: netlink.Request}, Data: batch},
		{Header: netlink.Header{
			Type:  unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWTABLE,
			Flags: netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl,
		}, Data: table},
		{Header: netlink.Header{Type: unix.NFNL_MSG_BATCH_END, Flags: netlink.Request}, Data: batch},
	})
	if err != nil {
		return err
	}
	_, err = f.raw.Receive() // one acknowledgement, or the error
	return err
}
