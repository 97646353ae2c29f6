// Package stage provides the environment in which phases run: clients, clock, record, tree, members and faults.
// Package scenarios creates a [Stage] for each trial and runs the trial's phases on it. Kinds of phases are
// registered with [AddKind].
package stage
