// Package stage is a trial as a kind of phase sees it: clients, clock, record, tree, members and faults.
// A [Stage] lives as long as its trial; package scenarios makes it and runs its phases, whose kinds
// register with [AddKind].
package stage
