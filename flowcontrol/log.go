package flowcontrol

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// logRecord is a record of a spdy.FrameLog: its head, or a frame.
type logRecord struct {
	Trace struct {
		Common struct {
			Reference struct {
				Wall time.Time `json:"wall_clock_time"`
			} `json:"reference_time"`
		} `json:"common_fields"`
	} `json:"trace"`
	Name string  `json:"name"`
	Time float64 `json:"time"` // ms since the reference
	Data struct {
		Session int    `json:"session"`
		Version string `json:"version"`
		Frame   struct {
			Type     string           `json:"frame_type"`
			Stream   uint64           `json:"stream_id"`
			Length   int64            `json:"length"`
			Fin      bool             `json:"fin"`
			Delta    int64            `json:"delta"`
			Status   string           `json:"status"`
			Last     *uint64          `json:"last_stream_id"`
			Ping     *uint64          `json:"ping"`
			Settings map[string]int64 `json:"settings"`
		} `json:"frame"`
		Window struct {
			Stream  *int64 `json:"stream"`
			Session *int64 `json:"session"`
		} `json:"window"`
	} `json:"data"`
}

// mostSessions limits the sessions of a log that are read. A load opens some hundreds at most.
const mostSessions = 10_000

// ReadLog reads the frames in a spdy.FrameLog that a client wrote, and returns a connection for each session, in the order of their
// numbers. The log knows the client's times only: Received of what the client sent is Never, and so is Sent of what it received.
// Connections have no flow and no transfers. If records are damaged or cut off, Unseen of the last connection says so. The error says
// that reading failed, or that a record is longer than 1 MiB.
func ReadLog(r io.Reader) ([]*Connection, error) {
	const longest = 1 << 20 // octets of a record: the writer's are far shorter
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 64<<10), longest)
	scanner.Split(splitRecords)
	sessions := map[int][]*frame{}
	versions := map[int]string{}
	var began time.Time
	bad := 0
	for scanner.Scan() {
		text := scanner.Bytes()
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var record logRecord
		if err := json.Unmarshal(text, &record); err != nil {
			bad++
			continue
		}
		if record.Name == "" {
			began = record.Trace.Common.Reference.Wall
			continue
		}
		if n := record.Data.Session; len(sessions) < mostSessions || sessions[n] != nil {
			sessions[n] = append(sessions[n], record.frame(began))
			versions[n] = record.Data.Version
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read a frame log: %w", err)
	}
	var list []*Connection
	for _, n := range slices.Sorted(maps.Keys(sessions)) {
		frames := sessions[n]
		list = append(list, &Connection{Protocol: versions[n], Opened: min(frames[0].sent, frames[0].received), Events: events(frames)})
	}
	if bad > 0 {
		if len(list) == 0 {
			list = append(list, &Connection{})
		}
		last := list[len(list)-1]
		last.Unseen = append(last.Unseen, fmt.Sprint("records of the frame log that are damaged or cut off: ", bad))
	}
	return list, nil
}

// splitRecords splits a sequence of JSON texts (RFC 7464) at the record separators.
func splitRecords(data []byte, atEOF bool) (advance int, token []byte, err error) {
	const separator = 0x1e
	if i := bytes.IndexByte(data, separator); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// frame returns the record's frame. began is the log's reference time.
func (r *logRecord) frame(began time.Time) *frame {
	d := &r.Data.Frame
	f := &frame{
		kind: strings.ToUpper(d.Type), onStream: d.Stream != 0, stream: d.Stream, fin: d.Fin, delta: d.Delta, updates: d.Delta != 0,
		initial: -1, detail: r.detail(), streamLeft: NoWindow, sessionLeft: NoWindow, sender: Server, sent: Never,
	}
	if f.kind == "DATA" {
		f.run, f.octets = true, d.Length
	}
	if w := r.Data.Window.Stream; w != nil {
		f.streamLeft = *w
	}
	if w := r.Data.Window.Session; w != nil {
		f.sessionLeft = *w
	}
	at := began.UnixNano() + int64(math.Round(max(-longestTime, min(r.Time, longestTime))*1e6))
	if f.received = at; r.Name == "spdy:frame_sent" {
		f.sender, f.sent, f.received = Client, at, Never
	}
	return f
}

// longestTime limits the times in a log, in ms, to some three years, so that they fit into ns.
const longestTime = 1e11

func (r *logRecord) detail() string {
	d := &r.Data.Frame
	var words []string
	if d.Last != nil {
		words = append(words, fmt.Sprint("last stream ", *d.Last))
	}
	if d.Ping != nil {
		words = append(words, fmt.Sprint(*d.Ping))
	}
	number := func(text string) int { n, _ := strconv.Atoi(text); return n }
	ids := slices.SortedFunc(maps.Keys(d.Settings), func(a, b string) int { return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b)) })
	for _, id := range ids[:min(len(ids), longestList)] {
		words = append(words, fmt.Sprintf("%s %d", settingName(uint32(number(id))), d.Settings[id]))
	}
	if d.Status != "" {
		words = append(words, strings.ToUpper(d.Status))
	}
	return strings.Join(words, ", ")
}
