package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// apacheModules is where Debian keeps Apache's modules.
const apacheModules = "/usr/lib/apache2/modules"

// apacheLog is the access log format. Times are in microseconds.
const apacheLog = `{\"start\":%{begin:usec}t,\"end\":%{end:usec}t,\"protocol\":\"%H\",\"host\":\"%{Host}i\",\"request\":\"%r\",\"status\":%>s,\"bytes\":%B,` +
	`\"client\":\"%{c}a:%{remote}p\",\"server\":\"%A:%{local}p\"`

// apacheTLS is what the log format adds over TLS.
const apacheTLS = `,\"tls\":\"%{SSL_PROTOCOL}x\",\"cipher\":\"%{SSL_CIPHER}x\",\"reused\":\"%{SSL_SESSION_RESUMED}x\"`

// longestKey is the longest possible map key in a text file, in octets, with room for the
// value after it: Apache truncates longer lines.
const longestKey = 1000

// configureApache maps a request's host and target to a file that mod_asis sends, with the
// response's fields before its body. mod_headers adds the fields that Apache would
// otherwise change.
func configureApache(s *setup) ([]launch, error) {
	var b, found, aside strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("ServerRoot %s\nServerName wiretime\nPidFile %s\nErrorLog /dev/stderr\nLogLevel error", apacheQuote(s.Folder), apacheQuote(s.file("apache.pid")))
	put("DefaultRuntimeDir %s\nMutex file:%s", apacheQuote(s.scratch()), s.scratch())
	modules := []string{"mpm_event", "authz_core", "rewrite", "asis", "headers"}
	if s.secure() {
		modules = append(modules, "ssl")
	}
	if s.Protocol.ALPN == "h2" {
		modules = append(modules, "http2")
	}
	for _, m := range modules {
		put("LoadModule %s_module %s/mod_%s.so", m, apacheModules, m)
	}
	threads := s.apacheThreads()
	put("ServerLimit 1\nStartServers 1\nThreadLimit %d\nThreadsPerChild %[1]d\nMaxRequestWorkers %[1]d\nMinSpareThreads 1\nMaxSpareThreads %[1]d\nAsyncRequestWorkerFactor %d",
		threads, max(32, s.room(0)/threads))
	put("KeepAlive On\nMaxKeepAliveRequests 0\nKeepAliveTimeout %d\nTimeout %d", longTime, longTime)
	put("LimitRequestLine 65536\nLimitRequestFieldSize 65536\nUseCanonicalName Off\nFileETag None\nEnableSendfile Off")
	if s.Protocol.ALPN == "h2" {
		put("Protocols h2\nH2MaxSessionStreams %d\nH2Push off\nH2Upgrade off", concurrentRequests)
	} else {
		put("Protocols http/1.1")
	}
	if s.secure() {
		put("SSLSessionCache none\nSSLSessionTickets off\nSSLProtocol -all +TLSv1.3\nSSLOpenSSLConfCmd NumTickets 0\nSSLRandomSeed startup builtin\nSSLRandomSeed connect builtin")
	}
	format := apacheLog
	if s.secure() {
		format += apacheTLS
	}
	if !s.Unlogged {
		put("LogFormat \"%s}\" wiretime\nCustomLog %s wiretime", format, apacheQuote(s.log))
	}
	for _, at := range s.listens() {
		put("Listen %s", at)
	}
	asis := s.file("asis")
	put("DocumentRoot %s", apacheQuote(asis))
	if err := os.Mkdir(asis, 0o755); err != nil {
		return nil, err
	}
	for _, o := range s.origins {
		put("<VirtualHost %s>\nServerName %s", s.at(o), o.host)
		if s.secure() {
			put("SSLEngine on\nSSLCertificateFile %s\nSSLCertificateKeyFile %s", apacheQuote(o.certificate), apacheQuote(o.key))
		}
		// %{THE_REQUEST} is the request line as received, with its target undecoded.
		put("AllowEncodedSlashes NoDecode\nRewriteEngine On\nRewriteMap answers \"txt:%s\"", s.file("answers"))
		put("RewriteCond %%{REQUEST_METHOD} !^(GET|HEAD)$\nRewriteRule ^ - [R=404]")
		put("RewriteCond %%{THE_REQUEST} \"^\\S+ (\\S+)\"\nRewriteRule ^ - [E=target:%%1]")
		if err := apacheConditions(put, asis, o); err != nil {
			return nil, err
		}
		put("RewriteCond ${answers:%s%%{ENV:target}} ^(.+)$\nRewriteRule ^ %s/%%1 [L]", o.host, asis)
		for i := range o.answers {
			a := &o.answers[i]
			// After a blank, a map's line would name another file.
			if len(o.host)+len(a.target) > longestKey || strings.Contains(a.target, " ") {
				put("RewriteCond %%{ENV:target} %s\nRewriteRule ^ %s/%d [L]", apacheQuote("="+a.target), asis, a.number)
			} else {
				fmt.Fprintf(&found, "%s%s %d\n", o.host, a.target, a.number)
			}
			if err := apacheAnswer(filepath.Join(asis, fmt.Sprint(a.number)), a); err != nil {
				return nil, err
			}
			for _, f := range a.header {
				if a.aside(f) {
					fmt.Fprintf(&aside, "<Files %d>\nHeader always set %s %s\n</Files>\n", a.number, apacheQuote(f[0]), apacheQuote(strings.ReplaceAll(f[1], "%", "%%")))
				}
			}
		}
		put("RewriteRule ^ - [R=404]\n</VirtualHost>")
	}
	put("<Directory %s>\nRequire all granted\nSetHandler send-as-is\nOptions None\nAllowOverride None\n%s</Directory>", apacheQuote(asis), aside.String())
	if _, err := s.write("answers", []byte(found.String())); err != nil {
		return nil, err
	}
	name, err := s.write("apache.conf", []byte(b.String()))
	l := launch{args: []string{s.program, "-f", name, "-D", "FOREGROUND"}, nobody: true}
	if s.Protocol.ALPN == "h2" {
		// On SIGTERM, Apache discards the log lines of streams that it has answered but not yet
		// closed. On SIGWINCH it closes and logs them; it looks every second whether it is done.
		l.stop, l.patience = syscall.SIGWINCH, 10*time.Second
	}
	return []launch{l}, err
}

// apacheConditions answers conditional requests from files of their own, since mod_asis
// ignores conditions. Other requests skip its rules. NV keeps Apache from adding Vary.
func apacheConditions(put func(string, ...any), asis string, o origin) error {
	var rules []string
	for i := range o.answers {
		a := &o.answers[i]
		tag, date := a.validators()
		if tag == "" && date == "" {
			continue
		}
		unchanged := filepath.Join(asis, fmt.Sprint(a.number, ".unchanged"))
		rule := func(conditions string) {
			rules = append(rules, fmt.Sprintf("RewriteCond %%{ENV:target} %s\n%s\nRewriteRule ^ %s [L]", apacheQuote("="+a.target), conditions, unchanged))
		}
		if tag != "" {
			// A quotation mark would end the pattern.
			rule(`RewriteCond %{HTTP:If-None-Match} "` + strings.ReplaceAll(given(tag), `"`, `\x22`) + `" [NV]`)
		}
		if date != "" {
			rule("RewriteCond %{HTTP:If-None-Match} ^$ [NV]\nRewriteCond %{HTTP:If-Modified-Since} " + apacheQuote("="+date) + " [NV]")
		}
		if err := apacheAnswer(unchanged, &answer{status: http.StatusNotModified, header: a.unchanged(), body: os.DevNull}); err != nil {
			return err
		}
	}
	if len(rules) > 0 {
		put("RewriteCond %%{HTTP:If-None-Match}%%{HTTP:If-Modified-Since} ^$ [NV]\nRewriteRule ^ - [S=%d]\n%s", len(rules), strings.Join(rules, "\n"))
	}
	return nil
}

// apacheThreads returns how many threads Apache's one process has: 64, or one for each of many
// connections, up to 1024. When all of them are busy, Apache closes connections that are not.
func (s *setup) apacheThreads() int { return min(max(64, s.Connections), 1024) }

// apacheAnswer writes the file of an answer.
func apacheAnswer(name string, a *answer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Status: %d %s\n", a.status, http.StatusText(a.status))
	for _, f := range a.header {
		if !a.aside(f) {
			fmt.Fprintf(&b, "%s: %s\n", f[0], f[1])
		}
	}
	b.WriteByte('\n')
	body, err := os.ReadFile(a.body)
	if err != nil {
		return err
	}
	b.Write(body)
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// aside reports whether a field must not be in the answer's file: a redirect within the
// same origin, which mod_asis would follow itself; a date that Apache would rewrite or
// leave out; and the type of a response without content.
func (a *answer) aside(f [2]string) bool {
	switch f[0] {
	case "location":
		return strings.HasPrefix(f[1], "/")
	case "last-modified":
		date, err := http.ParseTime(f[1])
		return err != nil || date.UTC().Format(http.TimeFormat) != f[1]
	case "content-type":
		return a.status == http.StatusNoContent || a.status == http.StatusNotModified
	}
	return false
}

// apacheQuote quotes text for Apache's configuration.
func apacheQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// apacheEntry parses a line of the access log.
func apacheEntry(line []byte) (logged, error) {
	var e struct {
		logged
		Reused  string `json:"reused"`
		Request string `json:"request"`
	}
	// Apache writes unprintable octets as \x..
	if err := json.Unmarshal(bytes.ReplaceAll(line, []byte(`\x`), []byte(`\u00`)), &e); err != nil {
		return logged{}, err
	}
	l := e.logged
	l.Start, l.End, l.Resumed = 1000*l.Start, 1000*l.End, e.Reused == "Resumed"
	l.Method, l.Target, _ = strings.Cut(e.Request, " ")
	l.Target, _, _ = strings.Cut(l.Target, " ")
	return l, nil
}
