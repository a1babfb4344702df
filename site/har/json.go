package har

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"wiretime/site/recording"
)

// These types hold what is read of a HAR file. Fields that begin with an underscore are
// extensions by other programs.
type (
	file struct {
		Log     log     `json:"log"`
		Entries entries `json:"entries"`
	}
	log struct {
		Creator program `json:"creator"`
		Browser program `json:"browser"`
		Pages   pages   `json:"pages"`
		Entries entries `json:"entries"`
	}
	program struct {
		Name    text `json:"name"`
		Version text `json:"version"`
	}
	page struct {
		Started moment `json:"startedDateTime"`
		ID      text   `json:"id"`
		Title   text   `json:"title"`
		URL     text   `json:"_url"`
		URL2    text   `json:"_URL"`
		Timings struct {
			Load number `json:"onLoad"`
		} `json:"pageTimings"`
	}
	entry struct {
		number   int
		Page     text     `json:"pageref"`
		Started  moment   `json:"startedDateTime"`
		Time     number   `json:"time"`
		Request  request  `json:"request"`
		Response response `json:"response"`
		Timings  timings  `json:"timings"`
		Address  text     `json:"serverIPAddress"`

		ResourceType    text      `json:"_resourceType"`
		Priority        text      `json:"_priority"`
		FirstPriority   text      `json:"_initialPriority"`
		Initiator       initiator `json:"_initiator"`
		InitiatorType   text      `json:"_initiator_type"`
		InitiatorDetail text      `json:"_initiator_detail"`
		RequestType     text      `json:"_request_type"`
		IPAddress       text      `json:"_ip_addr"`
		CPUTimes        struct {
			Script number `json:"EvaluateScript"`
		} `json:"_cpuTimes"`
	}
	request struct {
		Method   text     `json:"method"`
		URL      text     `json:"url"`
		Headers  []header `json:"headers"`
		BodySize number   `json:"bodySize"`
		PostData struct {
			Text text `json:"text"`
		} `json:"postData"`
	}
	response struct {
		Status       number   `json:"status"`
		Headers      []header `json:"headers"`
		Redirect     text     `json:"redirectURL"`
		BodySize     number   `json:"bodySize"`
		HeadersSize  number   `json:"headersSize"`
		TransferSize number   `json:"_transferSize"`
		Content      content  `json:"content"`
	}
	content struct {
		Size     number  `json:"size"`
		MIME     text    `json:"mimeType"`
		Text     *string `json:"text"`
		Encoding text    `json:"encoding"`
	}
	header struct {
		Name  text `json:"name"`
		Value text `json:"value"`
	}
	timings struct {
		DNS     number `json:"dns"`
		Connect number `json:"connect"`
		SSL     number `json:"ssl"`
		Blocked number `json:"blocked"`
		Send    number `json:"send"`
		Wait    number `json:"wait"`
		Receive number `json:"receive"`
	}
)

// number holds a number, written as such or as a string. -1 and invalid numbers count as
// unknown.
type number struct {
	v     float64
	known bool
}

// UnmarshalJSON never fails.
func (n *number) UnmarshalJSON(b []byte) error {
	s := strings.TrimSpace(strings.Trim(string(b), `"`))
	v, err := strconv.ParseFloat(s, 64)
	*n = number{v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)}
	return nil
}

// value returns the number if it is not negative.
func (n number) value() (float64, bool) { return n.v, n.known && n.v >= 0 }

// octets returns the number as a size, or -1 if it is unknown.
func (n number) octets() int64 {
	if v, ok := n.value(); ok && v < math.MaxInt64/2 {
		return int64(v)
	}
	return -1
}

// line converts a line counted from 0 to one counted from 1; 0 means unknown.
func (n number) line() int {
	if v, ok := n.value(); ok && v < math.MaxInt32 {
		return int(v) + 1
	}
	return 0
}

// time returns the number as a duration in ms, or -1 if it is unknown.
func (n number) time() float64 {
	if v, ok := n.value(); ok {
		return v
	}
	return -1
}

// text holds a string, or the JSON of any other value.
type text string

// UnmarshalJSON never fails.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	switch {
	case json.Unmarshal(b, &s) == nil:
		*t = text(s)
	case len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		*t = text(b)
	}
	return nil
}

// moment is a date and time.
type moment struct{ time.Time }

// layouts lists the variants of ISO 8601 that programs write.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04Z07:00", time.RFC1123, time.RFC1123Z,
}

// UnmarshalJSON never fails. An unreadable time becomes zero.
func (m *moment) UnmarshalJSON(b []byte) error {
	m.Time = time.Time{}
	const longest = 64 // octets; an error of time.Parse has copies of the text
	if len(b) > longest {
		return nil
	}
	s := strings.Replace(strings.TrimSpace(strings.Trim(string(b), `"`)), ",", ".", 1)
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1970 && t.Year() < 3000 {
			m.Time = t
			return nil
		}
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil && v > 1e9 && v < 1e14 { // Unix time in s or ms
		if v < 1e11 {
			v *= 1000
		}
		m.Time = time.UnixMicro(int64(v * 1000)).UTC()
	}
	return nil
}

// initiator says what made a request: a URL, or an object as in the Chrome DevTools
// Protocol.
type initiator struct {
	url, kind string
	line      int // counted from 1; 0: unknown
}

// UnmarshalJSON never fails.
func (i *initiator) UnmarshalJSON(b []byte) error {
	*i = initiator{}
	var url text
	_ = url.UnmarshalJSON(b)
	if i.url = string(url); i.url != "" {
		return nil
	}
	i.readObject(b)
	return nil
}

type stack struct {
	Frames []struct {
		URL  text   `json:"url"`
		Line number `json:"lineNumber"` // counted from 0
	} `json:"callFrames"`
	Parent *stack `json:"parent"`
}

// readObject takes the initiator's URL, or else the URL and line of the innermost function
// on its stack that has a URL.
func (i *initiator) readObject(b []byte) {
	var object struct {
		Type  text   `json:"type"`
		URL   text   `json:"url"`
		Stack *stack `json:"stack"`
	}
	_ = json.Unmarshal(b, &object) // unreadable parts stay unknown
	i.kind, i.url = strings.ToLower(string(object.Type)), string(object.URL)
	for s := object.Stack; s != nil && i.url == ""; s = s.Parent {
		for _, f := range s.Frames {
			if i.url = string(f.URL); i.url != "" {
				i.line = f.Line.line()
				break
			}
		}
	}
}

// clean turns a file's octets into valid JSON: UTF-8 without a byte order mark, invalid
// numbers as null, control characters in strings escaped.
func clean(data []byte) ([]byte, []recording.Repair) {
	var repairs []recording.Repair
	note := func(what string) { repairs = append(repairs, recording.Repair{What: what}) }
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data = data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		data = fromUTF16(data[2:], binary.LittleEndian)
		note("the file is in UTF-16: converted to UTF-8")
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		data = fromUTF16(data[2:], binary.BigEndian)
		note("the file is in UTF-16: converted to UTF-8")
	}
	if !utf8.Valid(data) {
		note("parts of the file are not UTF-8: replaced by U+FFFD")
	}
	out, changed := mend(data)
	if changed {
		note("the file is not valid JSON (invalid numbers, or control characters in strings): corrected")
	}
	return out, repairs
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// odd lists words that some programs write in place of numbers and values.
var odd = []string{"NaN", "-Infinity", "Infinity", "undefined"}

// mend writes null for odd words outside strings, and escapes control characters inside.
func mend(data []byte) (out []byte, changed bool) {
	written := 0
	replace := func(from, to int, with string) {
		out = append(append(out, data[written:from]...), with...)
		written, changed = to, true
	}
	inString := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString && c < ' ':
			replace(i, i+1, `\u00`+string("0123456789abcdef"[c>>4])+string("0123456789abcdef"[c&15]))
		case !inString && (c == 'N' || c == 'I' || c == '-' || c == 'u'):
			for _, word := range odd {
				if bytes.HasPrefix(data[i:], []byte(word)) {
					replace(i, i+len(word), "null")
					i += len(word) - 1
					break
				}
			}
		}
	}
	if !changed {
		return data, false
	}
	return append(out, data[written:]...), true
}
