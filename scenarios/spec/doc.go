// Package spec reads and checks scenarios, without running them. A [Scenario] is a
// YAML text, built in or from a file; [Load] reads it with overrides, and [Scenario.Batches] returns its
// matrix as cells, one for each trial. A [Plan] contains the random choices of a trial, derived from
// the seed.
//
// scenario.go, phase.go, fault.go, driver.go and zoo.go define the fields of a file; load.go, yaml.go,
// override.go and matrix.go read it. step.go, step_fault.go and audit.go define the cells of an audit.
// Package scenarios registers the kinds of phase with their behaviour.
package spec
