package recording

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"wiretime/site"
)

// connections lists fields that belong to a connection or follow from the body, not to the
// page (RFC 9110 section 7.6.1), pseudo-header fields that some recorders keep, and fields
// about codings, which are written anew.
var connections = set(`alt-svc alternate-protocol connection content-length keep-alive proxy-connection te trailer
	transfer-encoding upgrade http2-settings content-encoding status version content-range
	non-authoritative-reason`)

// moving lists fields that would move a cell of a study to another protocol or repeat a
// navigation: HSTS (RFC 6797) and Critical-CH
// (https://wicg.github.io/client-hints-infrastructure/#critical-ch-parse).
var moving = set("strict-transport-security critical-ch")

// forbidding lists fields that could keep a made document from being shown or from making
// its requests. hindering lists fields that could keep other made bodies from being used in
// full.
var (
	forbidding = set(`content-security-policy content-security-policy-report-only x-content-security-policy x-webkit-csp
		x-frame-options cross-origin-embedder-policy cross-origin-embedder-policy-report-only cross-origin-opener-policy
		refresh content-disposition speculation-rules document-policy require-document-policy`)
	hindering = set("cross-origin-resource-policy clear-site-data")
)

func set(words string) map[string]bool {
	s := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		s[word] = true
	}
	return s
}

// fields returns a response's header fields as the site stores them.
func (m *maker) fields(n *node) []site.Header {
	var out []site.Header
	typed := false
	for _, h := range n.Header {
		name := strings.ToLower(strings.TrimSpace(h.Name))
		if strings.HasPrefix(name, ":") || connections[name] {
			continue
		}
		// Chromium joins fields of the same name with line breaks.
		for value := range strings.SplitSeq(h.Value, "\n") {
			f, ok := m.field(n, site.Header{Name: strings.TrimSpace(h.Name), Value: strings.TrimSpace(value)})
			if !ok || name == "content-type" && typed {
				continue
			}
			typed = typed || name == "content-type"
			out = append(out, f)
		}
	}
	if !typed && validType(n.MIME) && n.status != 204 {
		out = append(out, site.Header{Name: "content-type", Value: n.MIME})
	}
	out = m.keepFresh(n, out)
	if n.made {
		out = m.suit(n, out)
	}
	if n.coding != "" {
		out = append(out, site.Header{Name: "content-encoding", Value: n.coding})
	}
	return out
}

// keepFresh makes caches keep a response as long as they would have when it was recorded.
// It drops the date, because servers send the current one, and turns an expiry date into a
// lifetime (RFC 9111 section 4.2.1).
func (m *maker) keepFresh(n *node, header []site.Header) []site.Header {
	date, err := http.ParseTime(fieldOf(header, "date"))
	header = slices.DeleteFunc(header, func(h site.Header) bool { return strings.EqualFold(h.Name, "date") })
	if err != nil || slices.ContainsFunc(header, func(h site.Header) bool {
		return strings.EqualFold(h.Name, "cache-control") && lifetime.MatchString(h.Value)
	}) {
		return header
	}
	expires, err := http.ParseTime(fieldOf(header, "expires"))
	if err != nil || !expires.After(date) {
		return header
	}
	m.repairs.note(n.Where, "response", "%s with an expiry date: replaced by a lifetime (cache-control: max-age)")
	return append(header, site.Header{Name: "cache-control", Value: fmt.Sprintf("max-age=%d", int64(expires.Sub(date)/time.Second))})
}

// lifetime matches directives that take precedence over Expires.
var lifetime = regexp.MustCompile(`(?i)max-age|no-cache|no-store`)

// validType reports whether a media type given outside the header is valid.
func validType(mime string) bool {
	major, _, ok := strings.Cut(mime, "/")
	return ok && httpguts.ValidHeaderFieldName(major) && httpguts.ValidHeaderFieldValue(mime)
}

// field returns one field line as the site stores it, or false if it is left out.
func (m *maker) field(n *node, h site.Header) (site.Header, bool) {
	if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
		m.repairs.note(n.Where, "header field", "%s left out: not valid in HTTP")
		return h, false
	}
	name := strings.ToLower(h.Name)
	switch {
	case moving[name]:
		k := m.repairs.kind("header field", "%s that would move requests to other protocols or repeat them: left out")
		k.add(n.Where)
		k.mention(name)
		return h, false
	case n.made && (hindering[name] || n.kind == document && forbidding[name] || n.kind == media && name == "accept-ranges"):
		k := m.repairs.kind("header field", "%s that could keep made bodies from being loaded: left out")
		k.add(n.Where)
		k.mention(name)
		return h, false
	case name == "set-cookie":
		h.Value = m.blankCookie(n, h.Value)
	case secretField.MatchString(name):
		k := m.repairs.kind("header field", "%s that may hold a secret: letters and digits replaced by x")
		k.add(n.Where)
		k.mention(name)
		h.Value = blank(h.Value)
	case name == "location":
		return m.leadOn(n, h)
	case strings.HasPrefix(name, "content-security-policy"):
		h.Value = withoutUpgrade(h.Value)
		fallthrough
	case slices.Contains([]string{"link", "refresh", "access-control-allow-origin", "content-location", "report-to", "reporting-endpoints", "sourcemap"}, name):
		value, _ := m.hosts.rewrite([]byte(h.Value))
		h.Value = string(value)
	}
	return h, h.Value != "" || name != "content-security-policy"
}

// leadOn rewrites a redirect's location for the site, unless it already is as it should be.
func (m *maker) leadOn(n *node, h site.Header) (site.Header, bool) {
	if n.to == nil { // not a redirect, or no longer one
		return h, n.status == http.StatusCreated
	}
	base, err := url.Parse(n.url)
	if err == nil {
		if to, err := base.Parse(h.Value); err == nil && to.Scheme == "https" && key(n.method, n.to.url) == key(n.method, "https://"+to.Host+to.RequestURI()) {
			return h, true
		}
	}
	h.Value = n.to.url
	return h, true
}

// secretField matches names of fields that may hold credentials.
var secretField = regexp.MustCompile(`authorization|token|secret|password|api-?key|session-?id|(^|-)auth(-|$)`)

// secretParameter matches names of URL parameters that may hold credentials.
var secretParameter = regexp.MustCompile(`(?i)^(.*[_.-])?(access|api|auth|private|secret|security|session)?[_.-]?(key|token|secret|sig|signature|password|passwd|pwd|jwt|sid|session|sessionid|credential|auth)$`)

// blankCookie replaces a cookie's value by x of the same length. It keeps the name and
// attributes (RFC 6265 section 4.1).
func (m *maker) blankCookie(n *node, value string) string {
	pair, attributes, cut := strings.Cut(value, ";")
	name, secret, named := strings.Cut(pair, "=")
	if !named {
		name, secret = "", pair
	}
	if strings.Trim(secret, "x") != "" {
		m.repairs.note(n.Where, "cookie", "%s whose value was replaced by x of the same length")
	}
	secret = strings.Repeat("x", len(secret))
	if named {
		secret = name + "=" + secret
	}
	if cut {
		secret += ";" + attributes
	}
	return secret
}

func blank(value string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && httpguts.IsTokenRune(r) && !strings.ContainsRune("-_.", r) {
			return 'x'
		}
		return r
	}, value)
}

// noteSecrets reports URLs that may hold secrets. The parameters stay because requests are
// found by their URLs.
func (m *maker) noteSecrets(n *node) {
	_, query, _ := strings.Cut(n.url, "?")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if len(value) >= 8 && secretParameter.MatchString(name) {
			k := m.repairs.kind("URL parameter", "%s that may hold a secret: kept, since requests are found by their URLs; check before you publish the site")
			k.add(n.Where)
			k.mention(name)
		}
	}
}

// withoutUpgrade removes upgrade-insecure-requests from a policy
// (https://www.w3.org/TR/upgrade-insecure-requests/#delivery).
func withoutUpgrade(policy string) string {
	var kept []string
	for directive := range strings.SplitSeq(policy, ";") {
		if d := strings.TrimSpace(directive); d != "" && !strings.EqualFold(d, upgradeDirective) {
			kept = append(kept, d)
		}
	}
	return strings.Join(kept, "; ")
}

const upgradeDirective = "upgrade-insecure-requests"

// suit makes the header of a made body allow what the recorded body was used for.
func (m *maker) suit(n *node, header []site.Header) []site.Header {
	if strings.Contains(strings.ToLower(fieldOf(header, "content-type")), "charset=utf-16") {
		header = setField(header, "content-type", n.recordedType()) // stubs are in ASCII
	}
	if want := n.mediaType(); want != "" && want != n.recordedType() {
		if n.recordedType() != "" && n.status/100 != 3 {
			m.repairs.note(n.Where, "response", "%s with a made body whose type does not match its use: type changed")
		}
		header = setField(header, "content-type", want)
	}
	if n.needsCORS() {
		if got := fieldOf(header, "access-control-allow-origin"); got != "*" {
			m.repairs.note(n.Where, "response", "%s with a made body: other origins may read it (access-control-allow-origin: *), as the recorded origin could")
			header = setField(header, "access-control-allow-origin", "*")
		}
	}
	if link := fieldOf(header, "link"); link != "" {
		header = m.suitLinks(n, header)
	}
	return header
}

// suitLinks drops preloads of a made document that the recording lacks.
func (m *maker) suitLinks(n *node, header []site.Header) []site.Header {
	out := header[:0:0]
	for _, h := range header {
		if !strings.EqualFold(h.Name, "link") {
			out = append(out, h)
			continue
		}
		var kept []string
		for _, element := range splitLinks(h.Value) {
			target, parameters, _ := strings.Cut(strings.TrimPrefix(element, "<"), ">")
			if loads.MatchString(parameters) {
				to, ok := "", m.search(oneOctet*(len(n.from.Path)+len(target)))
				if ok {
					to, ok = m.hosts.locate(n.from, target)
				}
				if !ok || m.get(to) == nil {
					m.repairs.note(n.Where, "link", "%s left out: the header of a made document points to a URL that the recording lacks")
					continue
				}
			}
			kept = append(kept, element)
		}
		if len(kept) > 0 {
			out = append(out, site.Header{Name: h.Name, Value: strings.Join(kept, ", ")})
		}
	}
	return out
}

// loads matches link relations that browsers fetch.
var loads = regexp.MustCompile(`(?i)rel\s*=\s*"?[^";,]*(preload|prefetch|prerender|stylesheet|icon|manifest)`)

// splitLinks splits a Link field at the commas between links (RFC 8288 section 3).
func splitLinks(value string) []string {
	var out []string
	from, quoted, target := 0, false, false
	for i := range len(value) {
		switch c := value[i]; {
		case c == '"' && !target:
			quoted = !quoted
		case c == '<' && !quoted:
			target = true
		case c == '>':
			target = false
		case c == ',' && !quoted && !target:
			out = append(out, strings.TrimSpace(value[from:i]))
			from = i + 1
		}
	}
	return append(out, strings.TrimSpace(value[from:]))
}

func fieldOf(header []site.Header, name string) string {
	for _, h := range header {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

func setField(header []site.Header, name, value string) []site.Header {
	out := slices.DeleteFunc(slices.Clone(header), func(h site.Header) bool { return strings.EqualFold(h.Name, name) })
	return append(out, site.Header{Name: name, Value: value})
}
