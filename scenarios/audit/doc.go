// Package audit runs one cell of an audit: an episode of three clients in which a fault is injected at a
// step of the protocol, or a script that concerns the whole line.
package audit
