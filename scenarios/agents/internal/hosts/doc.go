// Package hosts makes machines for tests, which are reached over ssh: each has its own
// network, name, processes, /tmp, /run and home, and shares the rest with this one. They
// stand on a bridge:
//
//	here: zkhID ─── uplink ─ bridge ─ h1 ─── eth0, sshd
//	                                └ h2 ─── eth0, sshd
//
// The bridge has a network namespace of its own, since this machine's firewall may drop what
// it would forward. Nothing has a name outside of its namespace but the link here, and all
// ends with the process of the test, however that ends.
package hosts
