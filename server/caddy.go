package server

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// list is a JSON list.
type list = []any

// configureCaddy maps a request's method, host and target to a number, with a route for
// each number. Caddy tries routes one after the other, so they are grouped.
func configureCaddy(s *setup) ([]launch, error) {
	var mappings, groups, routes list
	var listens []string
	for _, at := range s.listens() {
		network := "tcp4/"
		if s.Protocol.Transport == "udp" {
			network = ""
		}
		listens = append(listens, network+at)
	}
	flush := func(group int) {
		if len(routes) > 0 {
			groups = append(groups, object{
				"match":    list{object{"vars": object{"{wiretime.group}": list{fmt.Sprint(group)}}}},
				"handle":   list{object{"handler": "subroute", "routes": routes}},
				"terminal": true,
			})
			routes = nil
		}
	}
	group := 0
	for _, o := range s.origins {
		for i := range o.answers {
			a := &o.answers[i]
			number := fmt.Sprint(a.number)
			mappings = append(mappings, object{"input": a.method + " " + o.host + a.target, "outputs": list{number, fmt.Sprint(group)}})
			routes = append(routes, object{
				"match": list{object{"vars": object{"{wiretime.number}": list{number}}}}, "handle": s.caddyAnswer(a), "terminal": true,
			})
			if len(routes) == caddyGroup {
				flush(group)
				group++
			}
		}
	}
	flush(group)
	methods := object{"handler": "map", "source": "{http.request.method}", "destinations": list{"{wiretime.method}"},
		"mappings": list{object{"input": "HEAD", "outputs": list{"GET"}}, object{"input_regexp": "^.*$", "outputs": list{"${0}"}}}}
	find := object{"handler": "map", "source": "{wiretime.method} {http.request.host}{http.request.uri}",
		"destinations": list{"{wiretime.number}", "{wiretime.group}"}, "mappings": mappings, "defaults": list{"0", "miss"}}
	first := list{methods, find}
	if s.Protocol.Name == "h3" {
		// Caddy sends Alt-Svc only over its other protocols, where browsers usually learn
		// it; package protocol's own row explains why it is needed here.
		first = append(first, object{"handler": "headers", "response": object{"set": object{"Alt-Svc": list{`h3=":443"; ma=86400`}}}})
	}
	main := object{
		"listen": listens, "automatic_https": object{"disable": true}, "protocols": caddyProtocols(s.Protocol.Name),
		"routes":       append(list{object{"handle": first}}, append(groups, object{"handle": list{object{"handler": "static_response", "status_code": 404}}})...),
		"idle_timeout": "1h", "max_header_bytes": 1 << 20,
	}
	if !s.Unlogged {
		main["logs"] = object{"default_logger_name": "requests"}
	}
	apps := object{"http": object{"http_port": 1, "https_port": s.Protocol.Port, "grace_period": "1ms", "servers": object{"main": main}}}
	if s.secure() {
		main["tls_connection_policies"] = list{object{"alpn": list{s.Protocol.ALPN}, "protocol_min": "tls1.3"}}
		var files list
		for _, o := range s.origins {
			files = append(files, object{"certificate": o.certificate, "key": o.key})
		}
		apps["tls"] = object{"certificates": object{"load_files": files}, "session_tickets": object{"disabled": true},
			"automation": object{"policies": list{object{"issuers": list{}}}}}
	}
	config := object{
		"admin":   object{"disabled": true, "config": object{"persist": false}},
		"storage": object{"module": "file_system", "root": s.scratch()},
		"logging": object{"logs": object{
			"default": object{"level": "WARN", "writer": object{"output": "stderr"}, "exclude": list{"http.log.access.requests"}},
			"requests": object{
				"include": list{"http.log.access.requests"}, "writer": object{"output": "file", "filename": s.log, "roll": false},
				"encoder": object{"format": "filter", "wrap": object{"format": "json", "time_format": "unix_nano"},
					"fields": object{"request>headers": object{"filter": "delete"}, "resp_headers": object{"filter": "delete"}}},
			},
		}},
		"apps": apps,
	}
	text, err := json.MarshalIndent(config, "", " ")
	if err != nil {
		return nil, err
	}
	name, err := s.write("caddy.json", text)
	return []launch{{args: []string{s.program, "run", "--config", name}, environment: []string{
		"XDG_DATA_HOME=" + s.scratch(), "XDG_CONFIG_HOME=" + s.scratch(), "QUIC_GO_DISABLE_GSO=1", "QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING=1"}}}, err
}

// caddyGroup is the number of routes in a group.
const caddyGroup = 64

// caddyProtocols returns the protocols to enable for a row. Caddy has no HTTP/2 without
// HTTP/1.1, but the handshake then does not offer HTTP/1.1.
func caddyProtocols(row string) list {
	switch row {
	case "h2":
		return list{"h1", "h2"}
	case "h3":
		return list{"h3"}
	}
	return list{"h1"}
}

// caddyFields are the fields that the file server sets for every file.
var caddyFields = []string{"accept-ranges", "content-type", "etag", "last-modified"}

// caddyAnswer returns the handlers of an answer: the file server sends the body, and the
// archive's fields replace the file server's. The file server knows its own validators only,
// so a route before it answers conditional requests.
func (s *setup) caddyAnswer(a *answer) list {
	conditions := list{}
	tag, date := a.validators()
	if tag != "" {
		conditions = append(conditions, object{"header_regexp": object{"If-None-Match": object{"pattern": given(tag)}}})
	}
	if date != "" {
		conditions = append(conditions, object{"header": object{"If-Modified-Since": list{date}}, "not": list{object{"header": object{"If-None-Match": list{"*"}}}}})
	}
	if len(conditions) == 0 {
		return s.caddyWhole(a)
	}
	unchanged := s.caddyWhole(&answer{method: a.method, status: 304, header: a.unchanged()})
	return list{object{"handler": "subroute", "routes": list{
		object{"match": conditions, "handle": unchanged, "terminal": true}, object{"handle": s.caddyWhole(a)},
	}}}
}

// caddyWhole returns the handlers of an answer to an unconditional request.
func (s *setup) caddyWhole(a *answer) list {
	add, set, remove := object{}, object{}, list{}
	for _, f := range a.header {
		into := add
		if slices.Contains(caddyFields, f[0]) {
			into = set
		}
		values, _ := into[f[0]].(list)
		into[f[0]] = append(values, caddyLiteral(f[1]))
	}
	for _, name := range caddyFields {
		// An empty type keeps the file server from guessing one.
		if _, ok := set[name]; !ok && name != "content-type" {
			remove = append(remove, name)
		}
	}
	fields := object{"handler": "headers", "response": object{"deferred": true, "add": add, "set": set, "delete": remove}}
	if a.status == 204 || a.status == 304 {
		return list{fields, object{"handler": "static_response", "status_code": a.status}}
	}
	file := object{"handler": "file_server", "root": filepath.Dir(a.body), "canonical_uris": false}
	if a.status != 200 {
		file["status_code"] = a.status
	}
	handle := list{fields, object{"handler": "rewrite", "uri": "/" + filepath.Base(a.body)}}
	if a.method != "GET" {
		handle = append(handle, object{"handler": "rewrite", "method": "GET"})
	}
	return append(handle, file)
}

// caddyLiteral escapes text so that it contains no placeholder.
func caddyLiteral(text string) string { return strings.ReplaceAll(text, "{", `\{`) }

// caddyEntry parses a line of the access log.
func caddyEntry(line []byte) (logged, error) {
	var e struct {
		Time     int64   `json:"ts"`       // ns
		Duration float64 `json:"duration"` // s
		Status   int     `json:"status"`
		Size     int64   `json:"size"`
		Request  struct {
			Address string `json:"remote_ip"`
			Port    string `json:"remote_port"`
			Proto   string `json:"proto"`
			Method  string `json:"method"`
			Host    string `json:"host"`
			URI     string `json:"uri"`
			TLS     *struct {
				Resumed bool   `json:"resumed"`
				Version uint16 `json:"version"`
				Cipher  uint16 `json:"cipher_suite"`
			} `json:"tls"`
		} `json:"request"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return logged{}, err
	}
	r := &e.Request
	l := logged{End: e.Time, Protocol: r.Proto, Method: r.Method, Host: r.Host, Target: r.URI, Status: e.Status, Bytes: e.Size,
		Client: net.JoinHostPort(r.Address, r.Port)}
	l.Start = l.End - int64(math.Round(e.Duration*1e9))
	if r.TLS != nil && r.TLS.Version == 0 {
		l.TLS = "TLSv1.3" // Caddy does not log it over QUIC, which has no other version (RFC 9001)
	} else if r.TLS != nil {
		l.TLS = strings.Replace(tls.VersionName(r.TLS.Version), "TLS ", "TLSv", 1)
		l.Cipher, l.Resumed = tls.CipherSuiteName(r.TLS.Cipher), r.TLS.Resumed
	}
	return l, nil
}
