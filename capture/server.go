package capture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	jsonexp "github.com/go-json-experiment/json/v1"

	"wiretime/artefact"
	"wiretime/atomicfile"
)

// ServerEntry is one request as the server saw it. A server log holds one entry
// per line, as JSON.
type ServerEntry struct {
	Start      int64  `json:"start"`    // ns since the Unix epoch: the request's head had been read
	End        int64  `json:"end"`      // ns since the Unix epoch: the last byte was handed to the connection
	Protocol   string `json:"protocol"` // as negotiated: "http/1.1", "spdy/3.1", "h2", "h3"
	TLS        string `json:"tls"`      // version, empty without TLS
	Cipher     string `json:"cipher"`
	Resumed    bool   `json:"resumed"`   // the TLS session was resumed from an earlier connection
	EarlyData  bool   `json:"earlyData"` // the request came as 0-RTT data, before the handshake was complete
	Method     string `json:"method"`
	URL        string `json:"url"`
	Status     int    `json:"status"` // 0: the client gave up before the response began
	BodyBytes  int64  `json:"bodyBytes"`
	Client     string `json:"client"` // address:port
	Server     string `json:"server"` // address:port
	Connection int64  `json:"connection"`
	Miss       bool   `json:"miss"` // the site's archive does not hold this URL
	// Near is the URL whose response was sent because the archive does not hold the
	// requested one; empty otherwise.
	Near string `json:"near,omitempty"`
	// Early are the Link fields sent ahead as 103 Early Hints (RFC 8297).
	Early []string `json:"early,omitempty"`
	// Pushed says that the server pushed the response: no client requested it.
	Pushed bool `json:"pushed,omitempty"`
	// Unpushed is how many responses were to be pushed with this one but were not,
	// because the protocol has no push or the client does not accept it.
	Unpushed int `json:"unpushed,omitempty"`
	// Received describes what the server received of an upload; nil for other requests.
	Received *Received `json:"received,omitempty"`
}

// Received describes what a server received of a request's content.
type Received struct {
	Octets int64  `json:"octets"`
	First  int64  `json:"first"`  // when the first octets had been read, in ns since the Unix epoch; 0 if none were
	Last   int64  `json:"last"`   // when the last octets had been read, in ns since the Unix epoch; 0 if none were
	SHA256 string `json:"sha256"` // of these octets, in hexadecimal digits
}

// WriteServerLog writes a server log to path, whole or not at all.
func WriteServerLog(path string, entries []ServerEntry) error {
	err := atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		for i := range entries {
			if err := encoder.Encode(&entries[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write server log: %w", err)
	}
	return nil
}

// shortest is less than what an entry of a server log takes in octets: the names of
// its fields alone take more.
const shortest = 100

// ReadServerLog reads a server log, an artefact of at most 128 MiB. It ignores unknown fields. An error
// names the line. It allocates at most 64 times the file's size. An entry whose early Link
// fields have many targets and whose URL, against which these are resolved, is long is an
// error, too.
func ReadServerLog(path string) ([]ServerEntry, error) {
	text, err := artefact.Read(path, largest)
	if err != nil {
		return nil, fmt.Errorf("read server log: %w", err)
	}
	var entries []ServerEntry
	number := 0
	for line := range bytes.Lines(text) {
		number++
		var e ServerEntry
		if err := jsonexp.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read server log %s:%d: %w", path, number, err)
		}
		if len(line) < shortest {
			return nil, fmt.Errorf("read server log %s:%d: not an entry: %d octets, want at least %d", path, number, len(line), shortest)
		}
		if octets := e.hintedOctets(); octets > 16*len(line)+16<<10 {
			return nil, fmt.Errorf("read server log %s:%d: the targets of the early Link fields come to %d octets when resolved, too many for a line of %d", path, number, octets, len(line))
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// hintedOctets returns at most how many octets the targets of the early Link fields have
// when they are resolved against the URL.
func (e *ServerEntry) hintedOctets() int {
	octets := 0
	for _, field := range e.Early {
		octets += len(field) + strings.Count(field, "<")*len(e.URL)
	}
	return octets
}
