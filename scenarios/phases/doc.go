// Package phases has the kinds of phase, one file each: churn, stream, drain, flap, succession,
// failover and connect. Each registers what a scenario says of it and what it does.
package phases
