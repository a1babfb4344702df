package har

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"wiretime/site"
	"wiretime/site/recording"
)

// reader turns entries into exchanges and counts their oddities.
type reader struct {
	notes   map[string]bool // texts that stand in for removed bodies
	removed int             // removed bodies
	short   int             // bodies shorter than the file says
	base64  int             // bodies that cannot be decoded
}

func (r *reader) repairs() []recording.Repair {
	var out []recording.Repair
	for _, c := range []struct {
		count int
		what  string
	}{
		{r.removed, "%d bodies are placeholders, the same text in responses of different sizes: treated as not recorded"},
		{r.short, "%d bodies have less than half the size that the file gives: treated as not recorded"},
		{r.base64, "%d bodies are invalid base64: treated as not recorded"},
	} {
		if c.count > 0 {
			out = append(out, recording.Repair{What: fmt.Sprintf(c.what, c.count)})
		}
	}
	return out
}

// maxNote limits the length of a placeholder for a body.
const maxNote = 200

// placeholders returns the texts that stand in for bodies in responses of at least three
// different sizes.
func (l *log) placeholders(entries []*entry) map[string]bool {
	const enough = 3
	sizes := map[string][]int64{}
	for _, e := range entries {
		c := &e.Response.Content
		if c.Text == nil || *c.Text == "" || len(*c.Text) > maxNote || c.Size.octets() < 0 {
			continue
		}
		if size, known := c.Size.octets(), sizes[*c.Text]; len(known) < enough && !slices.Contains(known, size) {
			sizes[*c.Text] = append(sizes[*c.Text], size)
		}
	}
	notes := map[string]bool{}
	for note, different := range sizes {
		if len(different) == enough {
			notes[note] = true
		}
	}
	return notes
}

// exchange converts an entry to an exchange.
func (r *reader) exchange(e *entry) recording.Exchange {
	x := recording.Exchange{
		Where: "entry " + strconv.Itoa(e.number+1), Method: string(e.Request.Method), URL: string(e.Request.URL), Sent: e.sent(),
		Status: int(max(0, min(e.Response.Status.v, 1000))), MIME: strings.TrimSpace(string(e.Response.Content.MIME)),
		Took: e.took(), DNS: e.Timings.DNS.time(), Connect: e.connect(), Wait: e.Timings.Wait.time(), CPU: e.CPUTimes.Script.time(),
		Address: e.address(), Kind: e.kind(), Priority: string(e.Priority),
	}
	if x.Priority == "" {
		x.Priority = string(e.FirstPriority)
	}
	if x.MIME == "x-unknown" { // Chromium's value for an unknown type
		x.MIME = ""
	}
	x.Initiator, x.InitiatorType, x.InitiatorLine = e.initiator()
	x.Header = make([]site.Header, 0, len(e.Response.Headers))
	for _, h := range e.Response.Headers {
		x.Header = append(x.Header, site.Header{Name: string(h.Name), Value: string(h.Value)})
	}
	if to := string(e.Response.Redirect); to != "" && field(e.Response.Headers, "location") == "" && x.Status/100 == 3 {
		x.Header = append(x.Header, site.Header{Name: "location", Value: to})
	}
	x.Size, x.Transfer = e.sizes()
	x.Body, x.HasBody = r.body(&e.Response.Content)
	return x
}

// field returns a header field's value.
func field(headers []header, name string) string {
	for _, h := range headers {
		if strings.EqualFold(strings.TrimSpace(string(h.Name)), name) {
			return string(h.Value)
		}
	}
	return ""
}

// sent returns the size of the request's body.
func (e *entry) sent() int64 {
	if n := e.Request.BodySize.octets(); n > 0 {
		return n
	}
	if n, err := strconv.ParseInt(field(e.Request.Headers, "content-length"), 10, 64); err == nil && n > 0 {
		return n
	}
	return int64(len(e.Request.PostData.Text))
}

// took returns how long the whole exchange took.
func (e *entry) took() float64 {
	if t := e.Time.time(); t > 0 {
		return t
	}
	sum := 0.0
	for _, part := range []number{e.Timings.Blocked, e.Timings.DNS, e.Timings.Connect, e.Timings.Send, e.Timings.Wait, e.Timings.Receive} {
		sum += max(0, part.time())
	}
	return sum
}

// connect returns how long the TCP handshake took. HAR's value includes TLS. Over QUIC the
// two handshakes are one.
func (e *entry) connect() float64 {
	all, tls := e.Timings.Connect.time(), e.Timings.SSL.time()
	switch {
	case all <= 0:
		return -1
	case tls <= 0 || tls > all:
		return all
	case all == tls:
		return -1
	}
	return all - tls
}

// address returns the server's IP address, or "" if the entry holds no valid one.
func (e *entry) address() string {
	for _, text := range []text{e.Address, e.IPAddress} {
		if a, err := netip.ParseAddr(strings.Trim(string(text), "[] ")); err == nil {
			return a.WithZone("").String()
		}
	}
	return ""
}

// sizes returns the sizes of the content and of what crossed the wire.
func (e *entry) sizes() (size, transfer int64) {
	r := &e.Response
	length := int64(-1)
	if n, err := strconv.ParseInt(strings.TrimSpace(field(r.Headers, "content-length")), 10, 64); err == nil && n >= 0 {
		length = n
	}
	coding := strings.ToLower(strings.TrimSpace(field(r.Headers, "content-encoding")))
	coded := coding != "" && coding != "identity"
	transfer = length
	if transfer < 0 {
		transfer = r.BodySize.octets()
	}
	if transfer < 0 || transfer == 0 && r.TransferSize.octets() > 0 && length < 0 {
		transfer = r.TransferSize.octets()
		if h := r.HeadersSize.octets(); h > 0 && transfer >= h {
			transfer -= h
		}
	}
	size = r.Content.Size.octets()
	switch {
	case size > 0:
	case length > 0 && !coded && r.Content.Text == nil:
		size = length // the recorder did not see the content, so content-length is more reliable
	case length > 0 && r.Content.Text == nil:
		size = -1
	case size < 0 && !coded:
		size = transfer
	}
	if !coded && size >= 0 {
		transfer = size
	}
	return size, transfer
}

// body returns the content if the entry holds it.
func (r *reader) body(c *content) ([]byte, bool) {
	if c.Text == nil {
		return nil, false
	}
	size := c.Size.octets()
	if *c.Text == "" {
		return nil, size == 0
	}
	if r.notes[*c.Text] {
		r.removed++
		return nil, false
	}
	body := []byte(*c.Text)
	if strings.EqualFold(string(c.Encoding), "base64") {
		decoded, err := decodeBase64(*c.Text)
		if err != nil {
			r.base64++
			return nil, false
		}
		body = decoded
	}
	// UTF-16 text has half as many octets here, and no byte order mark.
	if size > 64 && int64(2*len(body)+2) < size {
		r.short++
		return nil, false
	}
	return body, true
}

// decodeBase64 decodes base64 in either alphabet, with or without padding and line breaks.
func decodeBase64(s string) ([]byte, error) {
	s = strings.NewReplacer("\r", "", "\n", "", " ", "", "-", "+", "_", "/").Replace(s)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// initiator returns the initiator's URL, its type, and its line, counted from 1.
func (e *entry) initiator() (url, kind string, line int) {
	i := e.Initiator
	if i.url == "" && e.InitiatorDetail != "" {
		i.readObject([]byte(e.InitiatorDetail))
	}
	if e.InitiatorType != "" {
		i.kind = strings.ToLower(string(e.InitiatorType))
	}
	if !slices.Contains([]string{"parser", "script", "preload", "other"}, i.kind) {
		i.kind = ""
	}
	return i.url, i.kind, i.line
}

// destinations maps values of Sec-Fetch-Dest to kinds
// (https://www.w3.org/TR/fetch-metadata/#sec-fetch-dest-header).
var destinations = map[string]string{
	"audio": "media", "document": "document", "embed": "document", "font": "font", "frame": "document", "iframe": "document", "image": "image",
	"manifest": "manifest", "object": "document", "script": "script", "style": "stylesheet", "track": "texttrack", "video": "media",
	"serviceworker": "fetch", "sharedworker": "fetch", "worker": "fetch", "report": "ping",
}

// kind returns the type of the request as the recorder states it, or as the request's
// fields suggest.
func (e *entry) kind() string {
	for _, said := range []text{e.ResourceType, e.RequestType} {
		if k := strings.ToLower(string(said)); k != "" && k != "other" {
			return k
		}
	}
	destination := strings.ToLower(field(e.Request.Headers, "sec-fetch-dest"))
	if k := destinations[destination]; k != "" {
		return k
	}
	accept := strings.ToLower(field(e.Request.Headers, "accept"))
	switch {
	case field(e.Request.Headers, "x-requested-with") != "":
		return "xhr"
	case strings.HasPrefix(accept, "text/css"):
		return "stylesheet"
	case strings.HasPrefix(accept, "text/html"):
		return "document"
	case strings.HasPrefix(accept, "image/"):
		return "image"
	case strings.HasPrefix(accept, "application/json"):
		return "xhr"
	case destination == "empty":
		return "fetch"
	}
	return ""
}
