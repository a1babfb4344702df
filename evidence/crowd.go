package evidence

import "time"

// Crowd holds what a load of many clients against one server left: readings of the server's
// processes and of the process that holds the clients, before and after each phase. Times
// are processor time, memory is in octets.
type Crowd struct {
	Clients int
	Idle    bool // the clients rested after one page each
	// PerClient is how many connections each client was to open.
	PerClient int
	// Asked is the octets of content of a page, as the site has them.
	Asked int64

	Warm    Phase  // one client, before the others
	Connect Phase  // all clients connected, one handshake and a HEAD request for each connection
	Load    Phase  // they loaded the page
	Rest    *Phase // they were connected, with nothing under way; nil for active clients
	// Counted is a phase of its own after the others, in which the server was stopped at each
	// system call. It is nil for idle clients.
	Counted *Phase
	// Held is how many connections the server's kernel had when the pages were loaded; -1 over QUIC,
	// where only the programs know.
	Held int

	Base, Server, Client Memory // before the first client, and with all of them
	ClientBase           Memory

	// TLS lists what the handshakes agreed on, each once; empty without TLS.
	TLS []string
}

// Phase describes what happened between two readings.
type Phase struct {
	Took         time.Duration // on the clock of the wall
	User, Kernel time.Duration // of the server's processes
	ClientTime   time.Duration // of the clients' process, both modes
	SystemCalls  int64         // of the server's processes; 0 unless they were counted

	Connections int // that the clients opened
	Handshakes  int // cryptographic ones that the clients completed
	Pages       int // that were loaded
	Requests    int
	Octets      int64 // of content that the clients received
}

// Memory says what processes had in memory.
type Memory struct {
	Resident int64 // proportional share of what is resident (PSS), or RSS where the kernel tells no more
	Peak     int64 // the highest RSS since each process started its program, added up
}
