// Package phases has the kinds of phase, one file each: churn, stream, drain, flap, succession,
// failover and connect. Each registers its fields in a scenario and its behaviour.
package phases
