package warc

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"wiretime/site"
	"wiretime/site/message"
	"wiretime/site/recording"
)

// entry is an exchange and its data that only WARC has.
type entry struct {
	recording.Exchange
	id         string
	concurrent []string // identifiers of records of the same exchange
	date       time.Time
	digest     string // of the payload
	refers     *reference
}

// request holds the part of a request record that is kept: the rest may hold secrets.
type request struct {
	id, url, method string
	concurrent      []string
}

// note is a metadata record about another record.
type note struct {
	about []string
	via   string  // the initiator's URL
	took  float64 // ms; -1 if unknown
}

// record imports one record. An error ends the file.
func (i *importer) record(records *reader, rec *record, where string) error {
	switch strings.ToLower(rec.field("warc-type")) {
	case "response", "resource", "revisit":
		return i.exchange(records, rec, where)
	case "request":
		return i.request(records, rec, where)
	case "metadata":
		return i.note(records, rec)
	case "warcinfo":
		return i.info(records, rec)
	}
	i.types++
	return nil
}

func (i *importer) exchange(records *reader, rec *record, where string) error {
	target := rec.uri("warc-target-uri")
	scheme := uriScheme(target)
	switch {
	case scheme == "":
		i.repair(where, "Invalid URI %.200q: left out.", target)
		return nil
	case scheme != "http" && scheme != "https":
		i.foreign++
		return nil
	case rec.length > i.budget.Body+maxHeader:
		i.repair(where, "Too large (%d octets, more than the limit of one body, --max-body): left out.", rec.length)
		return nil
	case len(i.entries) == i.limits.Exchanges:
		return i.limits.TooManyExchanges("responses")
	}
	block, err := records.block()
	if err != nil {
		return err
	}
	e := entry{
		Exchange: recording.Exchange{
			Where: where, Method: "GET", URL: target, Size: -1, Transfer: -1,
			Started: -1, Took: -1, DNS: -1, Connect: -1, Wait: -1,
			Kind: strings.ToLower(rec.field("warc-resource-type")), // written by Browsertrix, with the browser's resource type
		},
		id: rec.uri("warc-record-id"), concurrent: rec.uris("warc-concurrent-to"),
		date: parseDate(rec.field("warc-date")), digest: rec.field("warc-payload-digest"),
	}
	if address, err := netip.ParseAddr(rec.field("warc-ip-address")); err == nil {
		e.Address = address.String()
	}
	if err = i.fill(&e, rec, block); err == nil {
		i.entries = append(i.entries, e)
	} else if !errors.Is(err, message.ErrTotal) {
		i.repair(where, "%.200s was left out: %v.", target, err)
		err = nil
	}
	return err
}

// fill parses the record's block as the exchange's response.
func (i *importer) fill(e *entry, rec *record, block []byte) error {
	if strings.EqualFold(rec.field("warc-type"), "revisit") {
		return i.fillRevisit(e, rec, block)
	}
	if strings.EqualFold(rec.field("warc-type"), "resource") {
		return i.fillResource(e, rec, block)
	}
	line, header, payload := message.Split(block)
	response, err := message.New(line, header, payload, i.budget)
	if err != nil {
		return err
	}
	response.Fill(&e.Exchange)
	if field := wrongDigest(rec, block, payload, response.Body); field != "" {
		i.repair(e.Where, "%.200s does not match its %s and may be damaged. It was kept.", e.URL, field)
	}
	if reason := rec.field("warc-truncated"); reason != "" {
		i.repair(e.Where, "%.200s was truncated during recording (%.40q).", e.URL, reason)
	}
	if rec.field("warc-segment-number") != "" {
		i.repair(e.Where, "%.200s continues in continuation records, which are not supported: only the beginning was kept.", e.URL)
	}
	i.respond(e, response)
	return nil
}

func (i *importer) respond(e *entry, response *message.Response) {
	for _, what := range response.Repairs {
		i.repair(e.Where, "%.200s: %s", e.URL, what)
	}
}

// fillResource takes a block that is only content (ISO 28500:2017, section 6.4).
func (i *importer) fillResource(e *entry, rec *record, block []byte) error {
	if int64(len(block)) > i.budget.Body {
		return message.ErrBody
	}
	e.Status, e.Body, e.HasBody, e.Size = 200, block, true, int64(len(block))
	if t := rec.field("content-type"); t != "" && httpguts.ValidHeaderFieldValue(t) && utf8.ValidString(t) {
		e.Header = []site.Header{{Name: "content-type", Value: t}}
	}
	if field := wrongDigest(rec, block, block, block); field != "" {
		i.repair(e.Where, "%.200s does not match its %s and may be damaged. It was kept.", e.URL, field)
	}
	return i.budget.Spend(e.Size)
}

// maxURI limits the length of a URI in octets.
const maxURI = 64 << 10

// uriScheme returns the scheme of a URI in lower case, or "" if the URI is invalid or lacks
// a required host.
func uriScheme(s string) string {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxURI || !utf8.ValidString(s) || strings.HasPrefix(u.Scheme, "http") && u.Host == "" {
		return ""
	}
	return u.Scheme
}

// small limits the size of records without content that are read, in octets.
const small = 1 << 20

func (i *importer) request(records *reader, rec *record, where string) error {
	if rec.length > i.budget.Body {
		return nil
	}
	block, err := records.block()
	if err != nil {
		return err
	}
	line, _, _ := message.Split(block[:min(len(block), small)])
	method, _, _ := strings.Cut(line, " ")
	if !httpguts.ValidHeaderFieldName(method) || strings.ToUpper(method) != method {
		i.repair(where, "Invalid request line %.60q: its response was treated as the answer to a GET.", line)
		return nil
	}
	i.requests = append(i.requests, request{
		id: rec.uri("warc-record-id"), url: rec.uri("warc-target-uri"), method: method, concurrent: rec.uris("warc-concurrent-to"),
	})
	return nil
}

// note reads a metadata record with fields of the standard (ISO 28500:2017, section 6.6).
// It ignores other metadata.
func (i *importer) note(records *reader, rec *record) error {
	if !strings.HasPrefix(strings.ToLower(rec.field("content-type")), "application/warc-fields") || rec.length > small {
		return nil
	}
	block, err := records.block()
	if err != nil {
		return err
	}
	fields, _ := message.Fields(block)
	n := note{about: append(rec.uris("warc-concurrent-to"), rec.uris("warc-refers-to")...), took: -1}
	if via := bare(message.Field(fields, "via")); utf8.ValidString(via) {
		n.via = via
	}
	if took, err := strconv.ParseInt(message.Field(fields, "fetchTimeMs"), 10, 32); err == nil && took >= 0 {
		n.took = float64(took)
	}
	i.notes = append(i.notes, n)
	return nil
}

func (i *importer) info(records *reader, rec *record) error {
	if i.software != "" || rec.length > small {
		return nil
	}
	block, err := records.block()
	if err != nil {
		return err
	}
	fields, _ := message.Fields(block)
	i.software = strings.ToValidUTF8(message.Field(fields, "software"), "?")
	return nil
}

// parseDate parses a record's date (ISO 28500:2017, section 5.4), which may be as coarse as
// a day. An invalid date gives the zero time.
func parseDate(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
