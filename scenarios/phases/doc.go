// Package phases defines the kinds of phase, one file each: churn, stream, drain, flap, succession,
// failover and connect. Each file registers the fields of the kind in a scenario, and its behaviour.
package phases
