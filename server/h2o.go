package server

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// h2oLog is the access log format: when a request came, and how long it took.
const h2oLog = `{"time":"%{sec}t.%{usec_frac}t","took":"%{duration}x","protocol":"%H","tls":"%{ssl.protocol-version}x","cipher":"%{ssl.cipher}x",` +
	`"reused":"%{ssl.session-reused}x","method":"%m","host":"%V","path":"%U","query":"%q","status":%s,"bytes":%b,` +
	`"address":"%h","port":"%{remote}p","ownAddress":"%A","ownPort":"%{local}p"}`

// configureH2O writes a script for each host that maps a request's method and target to an
// internal path with the file and the fields. X-Reproxy-URL redirects the request to that
// path, with its method if the status is 307, by GET otherwise. If the status is not 200,
// the script sends the answer itself. It also answers conditional requests.
func configureH2O(s *setup) ([]launch, error) {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("num-threads: 1\nnum-name-resolution-threads: 1\npid-file: %s\nerror-log: /dev/stderr", yaml(s.file("h2o.pid")))
	if s.Connections > 0 {
		put("max-connections: %d", s.room(1024))
	}
	if !s.Unlogged {
		put("access-log:\n  path: %s\n  format: %s\n  escape: json", yaml(s.log), yaml(h2oLog))
	}
	put("temp-buffer-path: %s", yaml(s.scratch()))
	put("http2-max-concurrent-requests-per-connection: %d\nhttp2-idle-timeout: %d\nhttp1-request-timeout: %d", concurrentRequests, longTime, longTime)
	put("http1-upgrade-to-http2: OFF\nhttp2-push-preload: OFF\nfile.etag: OFF\nfile.mime.settypes: {}")
	if s.secure() {
		put("ssl-session-resumption:\n  mode: off")
	}
	put("hosts:")
	for _, o := range s.origins {
		answers, err := s.write(o.host+".answers", []byte(h2oAnswers(o)))
		if err != nil {
			return nil, err
		}
		script, err := s.write(o.host+".rb", fmt.Appendf(nil, h2oScript, strconv.Quote(answers)))
		if err != nil {
			return nil, err
		}
		put("  %s:\n    listen:\n      host: %s\n      port: %d", yaml(fmt.Sprintf("%s:%d", o.host, s.Protocol.Port)), o.address, s.Protocol.Port)
		if s.secure() {
			put("      ssl:\n        certificate-file: %s\n        key-file: %s\n        minimum-version: TLSv1.3\n        ocsp-update-interval: 0", yaml(o.certificate), yaml(o.key))
			if s.Contained {
				put("        neverbleed: OFF") // it would keep the key in a process of its own, behind a socket in /tmp
			}
		}
		put("    paths:\n      \"/\":\n        mruby.handler-file: %s\n        reproxy: ON", yaml(script))
		for i := range o.answers {
			if a := &o.answers[i]; a.status == 200 {
				h2oAnswer(put, a)
			}
		}
	}
	name, err := s.write("h2o.yaml", []byte(b.String()))
	return []launch{{args: []string{s.program, "-c", name}, nobody: true, patience: 100 * time.Millisecond}}, err // it waits for its clients to disconnect
}

// h2oAnswer writes the internal path of an answer.
func h2oAnswer(put func(string, ...any), a *answer) {
	put("      %s:\n        file.file: %s", yaml(a.place()), yaml(a.body))
	if kind, ok := a.field("content-type"); ok {
		put("        file.mime.setdefaulttype: %s", yaml(kind))
	} else {
		put("        header.unset: content-type")
	}
	put("        header.unset: last-modified\n        header.unset: accept-ranges")
	for _, f := range a.without("content-type") {
		put("        header.add: %s", yaml(f[0]+": "+f[1]))
	}
}

// h2oScript is the script of a host, which reads its answers from a file. Variables outside
// of functions are shared by all hosts' scripts.
const h2oScript = `read = lambda do |file|
  File.open(file, "rb") { |f| f.read }
end

serve = lambda do |file|
  answers = {}
  read.call(file).split("\n").each do |line|
    request, status, place, *fields = line.split("\t")
    tag, date = fields.shift || "", fields.shift || ""
    header = {}
    fields.each do |field|
      name, value = field.split(":", 2)
      header[name] = header.key?(name) ? header[name] + "\n" + value : value
    end
    if status == "200"
      answers[request] = {place: place, tag: tag, date: date, header: header}
    else
      body = read.call(place)
      answers[request] = [status.to_i, header, body.empty? ? [] : [body]]
    end
  end
  unchanged = lambda do |env, answer|
    given, since = env["HTTP_IF_NONE_MATCH"], env["HTTP_IF_MODIFIED_SINCE"]
    next given == "*" || given.include?(answer[:tag]) if given && answer[:tag] != ""
    !given && since && since == answer[:date]
  end
  lambda do |env|
    asked = env["REQUEST_METHOD"] == "HEAD" ? "GET" : env["REQUEST_METHOD"]
    target = env["PATH_INFO"]
    target += "?" + env["QUERY_STRING"] unless env["QUERY_STRING"].empty?
    answer = answers[asked + " " + target]
    case answer
    when nil then [404, {}, []]
    when Array then [answer[0], answer[1].dup, answer[2]]
    else
      next [304, answer[:header].dup, []] if asked == "GET" && unchanged.call(env, answer)
      [asked == "GET" ? 307 : 200, {"x-reproxy-url" => answer[:place]}, []]
    end
  end
end

serve.call(%s)
`

// h2oAnswers writes the file of a host's answers. Each line has, separated by tabs, method
// and target, status, the internal path or the file of the body, the validators, and the
// fields: those of a 304 if the answer itself is at an internal path.
func h2oAnswers(o origin) string {
	var b strings.Builder
	for i := range o.answers {
		a := &o.answers[i]
		target := a.target
		if strings.IndexByte(target, '?') == len(target)-1 {
			target = target[:len(target)-1] // H2O's scripts do not see an empty query
		}
		tag, date := a.validators()
		place, header := a.body, a.header
		if a.status == 200 {
			place, header = a.place(), nil
		}
		if tag != "" || date != "" {
			header = a.unchanged()
		}
		fmt.Fprintf(&b, "%s %s\t%d\t%s\t%s\t%s", a.method, target, a.status, place, tag, date)
		for _, f := range header {
			fmt.Fprintf(&b, "\t%s:%s", f[0], strings.ReplaceAll(f[1], "\t", " "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// yaml quotes text as a YAML scalar.
func yaml(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// h2oEntry parses a line of the access log.
func h2oEntry(line []byte) (logged, error) {
	var e struct {
		logged
		Time    string `json:"time"`
		Took    string `json:"took"`
		Reused  string `json:"reused"`
		Path    string `json:"path"`
		Query   string `json:"query"`
		Address string `json:"address"`
		Port    string `json:"port"`
		Own     string `json:"ownAddress"`
		OwnPort string `json:"ownPort"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return logged{}, err
	}
	began, err := strconv.ParseFloat(e.Time, 64)
	if err != nil {
		return logged{}, err
	}
	took, err := strconv.ParseFloat(e.Took, 64)
	if err != nil {
		return logged{}, err
	}
	l := e.logged
	l.Start = int64(math.Round(began*1e6)) * 1e3
	l.End = l.Start + int64(math.Round(took*1e9))
	l.Target, l.Resumed = e.Path+e.Query, e.Reused == "1"
	l.Client, l.Server = e.Address+":"+e.Port, e.Own+":"+e.OwnPort
	return l, nil
}
