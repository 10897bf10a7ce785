// Package pleach has no code: its tests drive a pleach server with client-go and controller-runtime,
// as operators written in Go do.
package pleach
