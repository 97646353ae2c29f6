package rootless

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Rights returns nil if this process may create network namespaces, link them to its own, and mount:
// it must have the capabilities, and they must apply to its namespaces.
func Rights() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("reading this process's capabilities: %w", err)
	}
	const wanted = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN
	if data[0].Effective&wanted != wanted {
		return errors.New("this process does not have CAP_SYS_ADMIN and CAP_NET_ADMIN")
	}
	for _, kind := range []string{"net", "mnt"} {
		if !oursToGovern(kind) {
			return fmt.Errorf("this process has rights only in its user namespace, and its %s namespace belongs to another user namespace", kind)
		}
	}
	return nil
}

// oursToGovern reports whether a namespace of this process belongs to its user namespace.
func oursToGovern(kind string) bool {
	ns, err := os.Open("/proc/self/ns/" + kind)
	if err != nil {
		return false
	}
	defer ns.Close()
	fd, err := unix.IoctlRetInt(int(ns.Fd()), unix.NS_GET_USERNS)
	if err != nil { // the owner is a user namespace that this process cannot see
		return false
	}
	owner := os.NewFile(uintptr(fd), "the user namespace of "+kind)
	defer owner.Close()
	of, err := owner.Stat()
	if err != nil {
		return false
	}
	own, err := os.Stat("/proc/self/ns/user")
	return err == nil && os.SameFile(of, own)
}
