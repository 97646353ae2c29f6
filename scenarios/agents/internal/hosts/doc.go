// Package hosts creates machines for tests, reached over ssh: each has its own network, name,
// processes, /tmp, /run and home, and shares the rest with this machine. They are connected by a
// bridge:
//
//	here: zkhID ─── uplink ─ bridge ─ h1 ─── eth0, sshd
//	                                └ h2 ─── eth0, sshd
//
// The bridge has its own network namespace, since this machine's firewall may drop forwarded
// packets. Only the link on this machine has a name outside of the namespaces, and everything ends
// with the test's process.
package hosts
