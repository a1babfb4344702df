// Package capture holds what is kept of one load, and the formats it is kept
// in: the packets of both ends (pcapng), the browser's account of its requests
// (HAR) and of its own clock (Timing), and the server's account of what it
// served (ServerEntry).
//
// The package knows formats only. It takes no figure from them (that is
// package metric) and it knows nothing of how they came about.
package capture
