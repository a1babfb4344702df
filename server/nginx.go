package server

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
)

// nginxLog is the access log format. Times are in seconds with three digits.
const nginxLog = `{"end":$msec,"took":$request_time,"protocol":"$server_protocol","tls":"$ssl_protocol","cipher":"$ssl_cipher","reused":"$ssl_session_reused",` +
	`"request":"$request","host":"$host","target":"$request_uri","status":$status,"bytes":$body_bytes_sent,` +
	`"client":"$remote_addr:$remote_port","server":"$server_addr:$server_port"}`

// configureNginx maps a request's method, host and target to a location of its own, with
// the file and the fields. A status other than 200, or a method other than GET, takes one
// more step: the location returns an artificial error whose error page is the answer,
// which nginx fetches by GET and sends with the configured status.
func configureNginx(s *setup) ([]launch, error) {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("daemon off;\nworker_processes 1;\npid %s;\nerror_log stderr warn;", nginxQuote(s.file("nginx.pid")))
	put("events { worker_connections %d; }\nhttp {", s.room(1024))
	if s.Unlogged {
		put("access_log off;")
	} else {
		put("log_format wiretime escape=json '%s';\naccess_log %s wiretime;", nginxLog, nginxQuote(s.log))
	}
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		put("%s_temp_path %s;", kind, nginxQuote(s.scratch()+"/"+kind))
	}
	// As in Debian's configuration.
	put("sendfile on;\ntcp_nopush on;")
	put("types {}\netag off;\nif_modified_since off;\nmax_ranges 0;\nclient_max_body_size 0;\nlarge_client_header_buffers 8 64k;")
	put("keepalive_requests 1000000;\nhttp2_max_concurrent_streams %d;", concurrentRequests)
	for _, limit := range []string{"keepalive_timeout", "client_header_timeout", "client_body_timeout", "send_timeout"} {
		put("%s %d;", limit, longTime)
	}
	if s.secure() {
		put("ssl_protocols TLSv1.3;\nssl_session_tickets off;\nssl_session_cache off;\nssl_conf_command NumTickets 0;")
	}
	// nginx has no other way to write a dollar sign in a value.
	put(`geo $dollar { default "$"; }`)
	s.nginxMap(put)
	for _, o := range s.origins {
		put("server {\nserver_name %s;", o.host)
		options := ""
		if s.secure() {
			put("ssl_certificate %s;\nssl_certificate_key %s;", nginxQuote(o.certificate), nginxQuote(o.key))
			options = " ssl"
		}
		if s.Protocol.ALPN == "h2" {
			options += " http2"
		}
		put("listen %s%s;", s.at(o), options)
		put("location / { rewrite ^ $place? last; }\nlocation = /.wiretime/miss { internal; return 404; }")
		for i := range o.answers {
			nginxAnswer(put, &o.answers[i])
		}
		put("}")
	}
	put("}")
	name, err := s.write("nginx.conf", []byte(b.String()))
	return []launch{{args: []string{s.program, "-p", s.Folder, "-e", "stderr", "-c", name}, nobody: true}}, err
}

// nginxMap maps requests to places. An nginx map ignores case, so keys that differ
// only in case are matched by regular expressions, which do not.
func (s *setup) nginxMap(put func(string, ...any)) {
	alike, longest, all := map[string]int{}, 0, 0
	for _, o := range s.origins {
		for i := range o.answers {
			key := nginxKey(o, &o.answers[i])
			alike[strings.ToLower(key)]++
			longest, all = max(longest, len(key)), all+1
		}
	}
	put("map_hash_bucket_size %d;\nmap_hash_max_size %d;", 1<<max(7, int(math.Ceil(math.Log2(float64(longest+64))))), 4*all+2048)
	put("map $request_method $asked { HEAD GET; default $request_method; }")
	put(`map "$asked $host$request_uri" $place {`)
	put("default /.wiretime/miss;")
	for _, o := range s.origins {
		for i := range o.answers {
			a := &o.answers[i]
			key := nginxKey(o, a)
			if alike[strings.ToLower(key)] > 1 {
				key = "~^" + regexp.QuoteMeta(key) + "$"
			}
			put("%s %s;", nginxString(key), a.place())
		}
	}
	put("}")
}

func nginxKey(o origin, a *answer) string { return a.method + " " + o.host + a.target }

// nginxAnswer writes the location of an answer.
func nginxAnswer(put func(string, ...any), a *answer) {
	place := a.place()
	if a.status != 200 || a.method != "GET" {
		put("location = %s { internal; error_page 418 =%d %s-page; return 418; }", place, a.status, place)
		place += "-page"
	}
	conditions := nginxConditions(put, a)
	put("location = %s {\ninternal;\n%salias %s;", place, conditions, nginxQuote(a.body))
	others := []string{"last-modified"}
	kind := ""
	if a.status != 204 && a.status != 304 { // nginx would leave the field out
		kind, _ = a.field("content-type")
		others = append(others, "content-type")
	}
	put("default_type %s;", nginxQuote(kind))
	modified, _ := a.field("last-modified")
	put("add_header last-modified %s always;", nginxQuote(modified)) // instead of the file's
	for _, f := range a.without(others...) {
		put("add_header %s %s always;", nginxString(f[0]), nginxQuote(f[1]))
	}
	put("}")
}

// nginxConditions writes the location of a 304, and returns the rules that lead to it from the
// location of the whole answer. nginx itself knows the validators of files only.
func nginxConditions(put func(string, ...any), a *answer) (rules string) {
	tag, date := a.validators()
	place := a.place() + "-unchanged"
	if tag != "" {
		rules += fmt.Sprintf("if ($http_if_none_match ~ %s) { rewrite ^ %s last; }\n", nginxString(given(tag)), place)
	}
	if date != "" {
		rules += fmt.Sprintf("set $given $http_if_none_match$http_if_modified_since;\nif ($given = %s) { rewrite ^ %s last; }\n", nginxString(date), place)
	}
	if rules == "" {
		return ""
	}
	put("location = %s {\ninternal;\ndefault_type '';", place)
	for _, f := range a.unchanged() {
		put("add_header %s %s always;", nginxString(f[0]), nginxQuote(f[1]))
	}
	put("return 304;\n}")
	return rules
}

// nginxString quotes text for nginx's configuration.
func nginxString(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// nginxQuote quotes text where nginx expands variables.
func nginxQuote(text string) string {
	return strings.ReplaceAll(nginxString(text), "$", "${dollar}")
}

// nginxEntry parses a line of the access log.
func nginxEntry(line []byte) (logged, error) {
	var e struct {
		logged
		End     float64 `json:"end"`
		Took    float64 `json:"took"`
		Reused  string  `json:"reused"`
		Request string  `json:"request"` // the request line, whatever nginx made of it
	}
	err := json.Unmarshal(line, &e)
	e.logged.Start, e.logged.End, e.Resumed = milliseconds(e.End-e.Took), milliseconds(e.End), e.Reused == "r"
	e.logged.Method, _, _ = strings.Cut(e.Request, " ")
	return e.logged, err
}

// milliseconds converts seconds with three digits to ns.
func milliseconds(seconds float64) int64 { return int64(math.Round(seconds*1e3)) * 1e6 }
