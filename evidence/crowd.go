package evidence

import "time"

// Crowd holds the measurements of a load of many clients against one server, taken of the server's
// processes and of the process that runs the clients.
type Crowd struct {
	Clients   int
	Idle      bool  // the clients loaded one page each and then rested
	PerClient int   // connections that each client was to open
	Asked     int64 // octets of content of a page, from the site

	Warm    Phase  // a single client, before the others
	Connect Phase  // all clients connected, with one handshake and one HEAD request for each connection
	Load    Phase  // they loaded the page
	Rest    *Phase // they were connected, with nothing under way; nil for active clients
	// Counted is a last phase, in which the server was stopped at each system call. It is nil for
	// idle clients.
	Counted *Phase
	// Held is how many connections the server's kernel held when the pages had been loaded; -1 over QUIC,
	// whose connections the kernel does not know.
	Held int

	Base       Memory // of the server, before the first client
	Server     Memory // of the server, with all clients connected
	Client     Memory // of the clients' process, with all clients connected
	ClientBase Memory // of the clients' process, before the first client

	// TLS lists each combination of version, cipher suite, group and key type that handshakes
	// agreed on; empty without TLS.
	TLS []string
}

// Phase holds the differences between two measurements.
type Phase struct {
	Took         time.Duration // wall-clock time
	User, Kernel time.Duration // processor time of the server's processes
	ClientTime   time.Duration // processor time of the clients' process, in both modes
	SystemCalls  int64         // of the server's processes; 0 unless they were counted

	Connections int   // that the clients opened
	Handshakes  int   // cryptographic handshakes that the clients completed
	Pages       int   // that the clients loaded
	Requests    int   // that were answered
	Octets      int64 // of content that the clients received
}

// Memory holds the memory of processes in octets.
type Memory struct {
	Resident int64 // proportional set size (PSS), or resident set size (RSS) where the kernel does not report it
	Peak     int64 // the highest RSS of each process since it started its program, added up
}
