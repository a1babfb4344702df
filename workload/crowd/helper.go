package crowd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"

	"wiretime/loader/many"
	"wiretime/machine"
	"wiretime/process"
	"wiretime/protocol"
	"wiretime/replay"
	"wiretime/site"
)

// serverCommand and clientsCommand are first arguments with which this program starts itself as a process of a crowd.
const (
	serverCommand  = "crowd-server"
	clientsCommand = "crowd-clients"
)

// Helper runs the program as a process of a crowd if it was started as one; it does not return in that case.
// Programs that measure crowds call it at the start of main, and tests at the start of TestMain.
func Helper() {
	if len(os.Args) < 2 {
		return
	}
	var err error
	switch os.Args[1] {
	case serverCommand:
		err = serverMain(os.Stdin, os.Stdout)
	case clientsCommand:
		err = clientsMain(os.Stdin, os.Stdout)
	case machine.CallsCommand:
		err = machine.CallsMain(os.Args[2:])
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wiretime:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serving says what the process of Wiretime's own server serves.
type serving struct {
	Site      string // the folder of the site's archive
	Authority string // the folder of the certificate authority
	Protocol  string
	Hosts     map[string]netip.Addr
}

// answer is a message from a process of a crowd. It sends one when it is ready, and one after each command.
type answer struct {
	Error string    // why the process failed; empty if it did not
	Done  many.Done // by the clients so far
}

// serverMain serves until its input ends.
func serverMain(in io.Reader, out io.Writer) error {
	lines := json.NewDecoder(in)
	var c serving
	if err := lines.Decode(&c); err != nil {
		return fmt.Errorf("read what to serve: %w", err)
	}
	a := answer{}
	if err := c.serve(); err != nil {
		a.Error = err.Error()
	}
	if err := json.NewEncoder(out).Encode(a); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, in)
	return nil // the kernel closes all connections, much faster than the server would
}

// serve starts the server.
func (c serving) serve() error {
	row, err := protocol.Lookup(c.Protocol)
	if err != nil {
		return err
	}
	archive, err := site.Open(c.Site)
	if err != nil {
		return err
	}
	if archive, err = archive.Over(row.Scheme); err != nil {
		return err
	}
	authority, err := protocol.OpenAuthority(c.Authority)
	if err != nil {
		return err
	}
	listen := new(net.ListenConfig)
	listen.SetMultipathTCP(false)
	_, err = protocol.Serve(context.Background(), protocol.ServerConfig{
		Protocol: row, Hosts: c.Hosts, Handler: protocol.Archive(replay.Answers(archive, false)), CA: authority, Unlogged: true,
		Listen: listen.Listen, ListenPacket: new(net.ListenConfig).ListenPacket,
	})
	return err
}

// command tells the clients' process what to do. Its parts are carried out in this order.
type command struct {
	Connect int  // connect until there are so many clients
	Load    int  // let so many clients, the first ones, load the page; 0: none
	Rounds  int  // how often each of them loads it
	Leave   bool // disconnect all clients
}

// clientsMain carries out commands until its input ends.
func clientsMain(in io.Reader, out io.Writer) error {
	lines, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var o many.Order
	if err := lines.Decode(&o); err != nil {
		return fmt.Errorf("read what to load: %w", err)
	}
	clients, err := many.New(o)
	for {
		a := answer{}
		if err == nil {
			a.Done = clients.Done()
		} else {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil || a.Error != "" {
			return err
		}
		var c command
		switch err := lines.Decode(&c); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read what to do: %w", err)
		}
		err = c.carryOut(clients)
	}
}

// carryOut carries out a command.
func (c command) carryOut(clients *many.Clients) error {
	if err := clients.Connect(c.Connect); err != nil {
		return err
	}
	if c.Load > 0 {
		if err := clients.Load(c.Load, c.Rounds); err != nil {
			return err
		}
	}
	if c.Leave {
		clients.Leave()
	}
	return nil
}

// helper is a running process of a crowd.
type helper struct {
	name    string
	child   *process.Child
	in      io.WriteCloser
	answers *json.Decoder
	ended   chan struct{} // made by watch; nil before
}

// start starts a process of a crowd in the namespace of enter, and returns when the process is ready.
func start(name string, enter func(*exec.Cmd), order any) (*helper, error) {
	c := exec.Command("/proc/self/exe", name)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	enter(c)
	child, err := process.Start(c)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	h := &helper{name: name, child: child, in: in, answers: json.NewDecoder(out)}
	if _, err := h.tell(order); err != nil {
		h.stop()
		return nil, err
	}
	return h, nil
}

// pid returns the process's ID.
func (h *helper) pid() int { return h.child.Command.Process.Pid }

// tell sends a message to the process and returns its answer.
func (h *helper) tell(message any) (many.Done, error) {
	if err := json.NewEncoder(h.in).Encode(message); err != nil {
		return many.Done{}, fmt.Errorf("%s: %w", h.name, err)
	}
	var a answer
	if err := h.answers.Decode(&a); err != nil {
		return a.Done, fmt.Errorf("%s ended unexpectedly: %w", h.name, err)
	}
	if a.Error != "" {
		return a.Done, fmt.Errorf("%s: %s", h.name, a.Error)
	}
	return a.Done, nil
}

// watch returns a channel that is closed when the process has ended. No more answers can be received.
func (h *helper) watch() <-chan struct{} {
	h.ended = make(chan struct{})
	go func() {
		defer close(h.ended)
		_ = h.answers.Decode(new(answer)) // the process sends none: the end of its output is its own
	}()
	return h.ended
}

// kill ends the process at once. stop must be called all the same.
func (h *helper) kill() { _ = h.child.Command.Process.Kill() }

// stop ends the process and waits until it has ended.
func (h *helper) stop() {
	_ = h.in.Close()
	h.kill()
	if h.ended != nil {
		<-h.ended
	}
	_ = h.child.Wait() // the process was killed
}
