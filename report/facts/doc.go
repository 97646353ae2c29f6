// Package facts derives what happened in a trial from its history: beliefs of clients that they hold,
// nodes and grants by the servers' commits, and the times of faults. Guarantees and metrics are
// evaluated on them.
package facts
