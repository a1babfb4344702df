// Package lab is a client host and a server host joined by an emulated path.
//
// Each host is a Linux network namespace of its own. For every access link of
// the client there is one TUN device on either side; the emulator, a process
// of its own (package lab/emulator), carries packets between the two and
// decides, with package network, when each one leaves and which ones never do.
//
//	client namespace                                   server namespace
//	  loader ── TCP/UDP ── wt0 ══ emulator process ══ wt0 ── TCP/UDP ── server
//	                       wt1 ══   (network.Path)  ══ wt1              DNS
//
// Lab.Prepare makes both hosts ready for a path; Hosts.Run emulates it while a function
// runs, and reports what the lab recorded; Hosts.SaveCapture keeps the packets. What is done
// meanwhile is the business of workloads (package workload).
//
// Addresses come from 198.18.0.0/15, which RFC 2544 section C.2.2 sets aside
// for benchmarks: access link i of the client is 198.18.i.2; every address in
// 198.19.0.0/16 belongs to the server, so each origin of a site can have its own.
//
// Nothing here needs root: Enter puts the program into a user namespace of its
// own, in which it may make network namespaces. Only where the machine forbids
// user namespaces does a lab need root, and Doctor says which of the two
// applies.
package lab
