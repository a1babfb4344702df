package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/lab/emulator"
	"wiretime/machine"
	"wiretime/media/record"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/replay"
	"wiretime/server"
	"wiretime/site"
)

// Names of the files that a load leaves in its folder.
const (
	CaptureFile = "load.pcapng"  // every packet at both ends with its fate, and the TLS keys
	HARFile     = "load.har"     // what the loader saw
	ServerFile  = "server.jsonl" // what the server saw
	FramesFile  = "frames.sqlog" // every frame that the loader sent and received, if it wrote them down
)

// settleQuiet is how long no packet may have arrived before a load's capture is
// closed. It is longer than Linux's delayed acknowledgement (40 ms) and QUIC's
// max_ack_delay (25 ms, RFC 9000 section 18.2), so the last data's
// acknowledgement is in the capture.
const settleQuiet = 45 * time.Millisecond

// settleLimit ends the wait for silence. What still moves by then is talk of the
// transports (pings, repeated acknowledgements), or the repetition of data that
// had arrived but whose acknowledgement was lost.
const settleLimit = 50 * time.Millisecond

// Visit is one session of a loader, cold until its first page.
type Visit interface {
	// Load navigates to the URL and returns when the page and all its
	// resources are there. What it has seen so far is returned even if it
	// fails. Each call is one page, and one page in the HAR it returns.
	Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error)
	// Close lets go of the page, its caches and its connections.
	Close() error
}

// Revisitor is a Visit that can come back to a site.
type Revisitor interface {
	// Forget is called between the earlier visit and the measured one, with what
	// is to be kept. If connections are not among that, the server has closed them.
	Forget(ctx context.Context, keep capture.Warm) error
}

// Together is a Visit that can load several pages at once, each in a tab of its own.
type Together interface {
	// LoadTogether is Visit.Load for pages that are opened at the same moment. The
	// HAR has one page for each, in the order of the URLs, with IDs page_1,
	// page_2 and so on; the timing is that of the page that was last, by each of
	// its figures.
	LoadTogether(ctx context.Context, urls []string) (*capture.HAR, capture.Timing, error)
}

// Framed is a Visit that may write down the frames of its protocol.
type Framed interface {
	// FrameLog is the log so far, as qlog's JSON-SEQ; nil if there is none.
	FrameLog() []byte
}

// Keyed is a Visit that knows the TLS secrets of its connections. They are for loads from
// servers that do not tell theirs.
type Keyed interface {
	// KeyLog is the secrets so far, in NSS key log format.
	KeyLog() ([]byte, error)
}

// Apart is a Visit whose loader is a process of its own.
type Apart interface {
	// Process is its number. The process's descendants take part in the load.
	Process() int
}

// Load says what to load, how and over which path.
type Load struct {
	Path      network.Path
	Seed      uint64 // of the path's loss and jitter
	TCP       TCPOptions
	Protocol  protocol.Protocol
	Server    server.Kind // the zero value is Wiretime's own
	Site      *site.Site  // served over the protocol's scheme ([site.Site.Over])
	Authority *protocol.Authority
	Visit     Visit
	// Warm is what the client keeps of an earlier visit. Unless it is zero, that
	// visit is carried out first, over the same path.
	Warm capture.Warm
	// Fallback is protocol.ServerConfig's.
	Fallback string
	// ServerWait has each answer begin as long after its request as it did when the site was
	// recorded.
	ServerWait bool
	ThinkTime  time.Duration // between the pages of a journey: from a page's end to the next
	Dir        string        // the folder, which must exist, that receives the artefacts
	Comment    string        // goes into the capture's header
	Timeout    time.Duration // of each page

	origins origins // what serves it
}

// Record is what one load left, besides the files in its folder. Nothing of an
// earlier visit is in it, but for one that failed: then there is nothing else, and
// LoadError says so.
type Record struct {
	HAR        *capture.HAR
	Timing     capture.Timing
	Server     []capture.ServerEntry // nil if the server keeps no log
	ServerLost int                   // QUIC packets that the server declared lost; -1: not known
	DNSQueries int
	Emulator   emulator.Report
	Taken      *machine.Taken // what others took of the processors meanwhile; nil in virtual time
	Stream     *record.Stream // nil of a page
	// LoadError is why the loader did not get the whole page, or the play was not performed
	// as it should be; nil if all went well.
	LoadError error
}

// Run runs one load. An error means that the lab itself failed and no record
// could be made; that the page did not load is Record.LoadError.
func (l *Lab) Run(ctx context.Context, load Load) (record *Record, err error) {
	if err := l.begin(load.Path, load.TCP); err != nil {
		return nil, err
	}
	served, err := l.over(load.Site, load.Protocol.Scheme)
	if err != nil {
		return nil, err
	}
	hosts := originAddresses(served.Origins())
	l.names.serve(hosts)
	var keys keyLog
	var own *protocol.Server
	if load.Server.Name == "" {
		own, err = protocol.Serve(ctx, protocol.ServerConfig{
			Protocol:     load.Protocol,
			Hosts:        hosts,
			Handler:      protocol.Archive(replay.Answers(served, load.ServerWait)),
			CA:           load.Authority,
			KeyLog:       &keys,
			Listen:       l.listen,
			ListenPacket: l.listenPacket,
			Resume:       load.Warm.Sessions,
			EarlyData:    load.Warm.EarlyData,
			Fallback:     load.Fallback,
		})
		load.origins = ownServer{own}
	} else {
		load.origins, err = l.serveForeign(ctx, load, served, hosts)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve site %s over %s: %w", load.Site.Name, load.Protocol.Name, err), load.Visit.Close())
	}
	leave := sync.OnceValue(load.Visit.Close)
	defer func() {
		// Both ends let go over a path without delay, so that nothing of this
		// load is left when the next one begins.
		err = errors.Join(err, leave(), load.origins.Close(), l.drain(context.WithoutCancel(ctx)), l.useAccess(0))
	}()

	raw, err := makeCapture()
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, raw.Close(), os.Remove(raw.Name()))
	}()
	if load.Warm != (capture.Warm{}) {
		record, err = l.visitEarlier(ctx, load, raw)
		l.names.serve(hosts) // and count anew
	}
	if record == nil && err == nil {
		record, err = l.measure(ctx, load, raw)
	}
	if err != nil {
		return nil, err
	}
	if foreign, is := load.origins.(foreignServer); is {
		if err := leave(); err != nil {
			return nil, err
		}
		foreign.awaitLog(ctx, record.HAR)
	}
	if record.Server, err = load.origins.Log(); err != nil {
		return nil, err
	}
	if record.HAR != nil {
		record.HAR.Log.RenamedDomains = load.Site.Renamed()
	}
	record.ServerLost = load.origins.LostPackets()
	record.DNSQueries = l.names.asked()
	if load.Warm.EarlyData {
		if err := addEarlySecrets(&keys, raw, own); err != nil {
			return nil, fmt.Errorf("find the keys of early data: %w", err)
		}
	}
	if visit, ok := load.Visit.(Keyed); ok && own == nil {
		if err := addClientKeys(&keys, visit); err != nil {
			return nil, err
		}
	}
	if err := keepArtefacts(load.Dir, raw, record, keys.text()); err != nil {
		return nil, err
	}
	return record, keepFrames(load.Dir, load.Visit)
}

// measure has the page loaded over the path.
func (l *Lab) measure(ctx context.Context, load Load, raw *os.File) (*Record, error) {
	record := &Record{}
	c := newCourse(load.Path, load.Seed, emulator.Recording{File: raw, Comment: load.Comment})
	c.programs = load.origins.Processes()
	if visit, ok := load.Visit.(Apart); ok {
		c.programs = append(c.programs, visit.Process())
	}
	err := l.emulate(ctx, c, record, func() (err error) {
		watched, done := whileServed(ctx, load.origins)
		record.HAR, record.Timing, err = browse(watched, load)
		return done(err)
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// keepArtefacts writes the load's files: the capture with its keys put before
// the packets, the HAR and the server's log.
func keepArtefacts(dir string, raw *os.File, record *Record, keys []byte) error {
	if err := insertSecrets(filepath.Join(dir, CaptureFile), raw, keys); err != nil {
		return fmt.Errorf("put the TLS keys into the capture: %w", err)
	}
	if record.HAR != nil {
		if err := capture.WriteHAR(filepath.Join(dir, HARFile), record.HAR); err != nil {
			return err
		}
	}
	if record.Server == nil {
		return nil
	}
	return capture.WriteServerLog(filepath.Join(dir, ServerFile), record.Server)
}

// keepFrames writes the visit's frame log, if it has one.
func keepFrames(dir string, v Visit) error {
	framed, ok := v.(Framed)
	if !ok {
		return nil
	}
	log := framed.FrameLog()
	if log == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, FramesFile), log, 0o644); err != nil {
		return fmt.Errorf("keep the frame log: %w", err)
	}
	return nil
}

// addEarlySecrets adds the keys that the capture needs beside those that TLS tells.
func addEarlySecrets(keys io.Writer, raw *os.File, server *protocol.Server) error {
	if _, err := raw.Seek(0, io.SeekStart); err != nil {
		return err
	}
	packets, err := capture.ReadPcapng(raw)
	if err != nil {
		return err
	}
	for _, hello := range capture.ClientHellos(packets) {
		line, err := server.EarlySecret(hello)
		if err == nil {
			_, err = io.WriteString(keys, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addClientKeys adds the keys that the client knows.
func addClientKeys(keys io.Writer, visit Keyed) error {
	text, err := visit.KeyLog()
	if err == nil {
		_, err = keys.Write(text)
	}
	if err != nil {
		return fmt.Errorf("take over the client's TLS keys: %w", err)
	}
	return nil
}

func insertSecrets(final string, raw *os.File, keys []byte) error {
	if _, err := raw.Seek(0, io.SeekStart); err != nil {
		return err
	}
	target, err := os.Create(final)
	if err != nil {
		return err
	}
	return errors.Join(capture.InsertSecrets(target, raw, keys), target.Close())
}

// keyLog gathers a server's TLS keys in NSS key log format.
type keyLog struct {
	mu   sync.Mutex
	keys []byte
}

func (k *keyLog) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = append(k.keys, b...)
	return len(b), nil
}

func (k *keyLog) text() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.keys)
}
