// Package capture holds what is kept of one load, with its formats: the packets
// at both ends (pcapng), the browser's record of its requests (HAR) and of its
// own clock (Timing), and the server's record of what it served (ServerEntry).
//
// The package knows formats only. It computes no figures (package metric does)
// and does not know how the records came about.
package capture
