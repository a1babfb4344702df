package har

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"wiretime/costtest"
	"wiretime/site"
	"wiretime/site/recording"
)

// log12 returns a HAR file with the given entries.
func log12(entries ...string) string {
	return `{"log":{"version":"1.2","creator":{"name":"Test","version":"1"},"pages":[{"startedDateTime":"2020-01-01T00:00:00Z","id":"p","title":"https://a.test/","pageTimings":{"onLoad":500}}],"entries":[` +
		strings.Join(entries, ",\n") + `]}}`
}

// entryOf returns an entry with some members replaced or added.
func entryOf(t *testing.T, change string) string {
	t.Helper()
	var e, c map[string]any
	for text, to := range map[string]*map[string]any{`{"pageref":"p","startedDateTime":"2020-01-01T00:00:01.5Z","time":90,
		"request":{"method":"GET","url":"https://a.test/x","headers":[],"bodySize":0},
		"response":{"status":200,"headers":[{"name":"Content-Type","value":"text/css"}],"content":{"size":1000,"mimeType":"text/css"},"bodySize":-1,"headersSize":-1,"redirectURL":""},
		"timings":{"blocked":1,"dns":2,"connect":30,"ssl":20,"send":0,"wait":40,"receive":5},"serverIPAddress":"192.0.2.1"}`: &e, change: &c} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	merge(e, c)
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func merge(to, from map[string]any) {
	for k, v := range from {
		inner, ok := v.(map[string]any)
		if there, both := to[k].(map[string]any); ok && both {
			merge(there, inner)
			continue
		}
		to[k] = v
	}
}

func readText(t *testing.T, text string, o Options) *recording.Recording {
	t.Helper()
	r, err := Read(strings.NewReader(text), "test.har", o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEntries covers entries in the forms that programs write.
func TestEntries(t *testing.T) {
	type x = recording.Exchange
	for _, c := range []struct {
		name, change string
		got          func(e x) any
		want         any
	}{
		{"method", `{"request":{"method":"POST"}}`, func(e x) any { return e.Method }, "POST"},
		{"status as text", `{"response":{"status":"404"}}`, func(e x) any { return e.Status }, 404},
		{"no status", `{"response":{"status":null}}`, func(e x) any { return e.Status }, 0},
		{"negative status", `{"response":{"status":-7}}`, func(e x) any { return e.Status }, 0},
		{"no response", `{"response":null}`, func(e x) any { return e.Status }, 0},
		{"no header", `{"response":{"headers":null}}`, func(e x) any { return len(e.Header) }, 0},
		{"header is an object", `{"response":{"headers":{}}}`, func(e x) any { return len(e.Header) }, 0},
		{"field is a number", `{"response":{"headers":[{"name":"age","value":7}]}}`, func(e x) any { return e.Header[0].Value }, "7"},
		{"time", `{}`, func(e x) any { return e.Took }, 90.0},
		{"time as text", `{"time":"12.5"}`, func(e x) any { return e.Took }, 12.5},
		{"time of the parts", `{"time":-1}`, func(e x) any { return e.Took }, 78.0},
		{"negative parts", `{"time":0,"timings":{"blocked":-1,"dns":-1,"connect":-1,"send":-5,"wait":3,"receive":null}}`, func(e x) any { return e.Took }, 3.0},
		{"connect without TLS", `{}`, func(e x) any { return e.Connect }, 10.0},
		{"connect in the clear", `{"timings":{"ssl":-1}}`, func(e x) any { return e.Connect }, 30.0},
		{"connect of QUIC", `{"timings":{"ssl":30}}`, func(e x) any { return e.Connect }, -1.0},
		{"no connect", `{"timings":{"connect":0}}`, func(e x) any { return e.Connect }, -1.0},
		{"TLS beside connect", `{"timings":{"connect":15,"ssl":40}}`, func(e x) any { return e.Connect }, 15.0},
		{"wait", `{}`, func(e x) any { return e.Wait }, 40.0},
		{"no timings", `{"timings":null}`, func(e x) any { return e.Wait }, -1.0},
		{"address", `{}`, func(e x) any { return e.Address }, "192.0.2.1"},
		{"IPv6", `{"serverIPAddress":"[2001:db8::1]"}`, func(e x) any { return e.Address }, "2001:db8::1"},
		{"WebPageTest's address", `{"serverIPAddress":"","_ip_addr":"192.0.2.9"}`, func(e x) any { return e.Address }, "192.0.2.9"},
		{"no address", `{"serverIPAddress":"cache"}`, func(e x) any { return e.Address }, ""},

		{"size", `{}`, sizes, "1000 1000"},
		{"coded", `{"response":{"headers":[{"name":"Content-Encoding","value":"gzip"},{"name":"content-length","value":"300"}],"bodySize":650}}`, sizes, "1000 300"},
		{"coded and chunked", `{"response":{"headers":[{"name":"Content-Encoding","value":"gzip"}],"bodySize":350}}`, sizes, "1000 350"},
		{"coded, as transferred", `{"response":{"headers":[{"name":"Content-Encoding","value":"gzip"}],"headersSize":100,"_transferSize":450}}`, sizes, "1000 350"},
		{"coded, nothing known", `{"response":{"headers":[{"name":"Content-Encoding","value":"gzip"}],"content":{"size":-1}}}`, sizes, "-1 -1"},
		{"coded, unseen", `{"response":{"headers":[{"name":"Content-Encoding","value":"gzip"},{"name":"content-length","value":"300"}],"content":{"size":0}}}`, sizes, "-1 300"},
		{"unseen", `{"response":{"headers":[{"name":"content-length","value":"300"}],"content":{"size":0}}}`, sizes, "300 300"},
		{"size by length", `{"response":{"headers":[{"name":"content-length","value":"300"}],"content":{"size":-1}}}`, sizes, "300 300"},
		{"size by body", `{"response":{"bodySize":"42","content":{"size":-1}}}`, sizes, "42 42"},
		{"empty", `{"response":{"bodySize":0,"content":{"size":0}}}`, sizes, "0 0"},
		{"no content", `{"response":{"content":null}}`, sizes, "-1 -1"},
		{"sent", `{"request":{"bodySize":17}}`, func(e x) any { return e.Sent }, int64(17)},
		{"sent by length", `{"request":{"bodySize":-1,"headers":[{"name":"Content-Length","value":"18"}]}}`, func(e x) any { return e.Sent }, int64(18)},
		{"sent as text", `{"request":{"bodySize":-1,"postData":{"text":"abc"}}}`, func(e x) any { return e.Sent }, int64(3)},

		{"body", `{"response":{"content":{"size":3,"text":"äb"}}}`, body, "äb true"},
		{"base64", `{"response":{"content":{"size":3,"text":"YW\nJj","encoding":"base64"}}}`, body, "abc true"},
		{"base64 for URLs", `{"response":{"content":{"size":2,"text":"__-_","encoding":"BASE64"}}}`, body, "\xff\xff\xbf true"},
		{"no base64", `{"response":{"content":{"size":3,"text":"a!","encoding":"base64"}}}`, body, " false"},
		{"no body", `{"response":{"content":{"size":3}}}`, body, " false"},
		{"empty body", `{"response":{"content":{"size":0,"text":""}}}`, body, " true"},
		{"left out", `{"response":{"content":{"size":9,"text":""}}}`, body, " false"},
		{"cut off", `{"response":{"content":{"size":9000,"text":"the beginning"}}}`, body, " false"},

		{"initiator", `{"_initiator":"https://a.test/","_initiator_type":"parser"}`, initiated, "https://a.test/ parser"},
		{"initiator as an object", `{"_initiator":{"type":"parser","url":"https://a.test/","lineNumber":7}}`, initiated, "https://a.test/ parser"},
		{"initiator in the stack", `{"_initiator":{"type":"script","stack":{"callFrames":[{"url":""}],"parent":{"callFrames":[{"url":"https://a.test/s.js"}]}}}}`, initiated, "https://a.test/s.js script"},
		{"initiator in the detail", `{"_initiator":"","_initiator_type":"script","_initiator_detail":"{\"type\":\"script\",\"stack\":{\"callFrames\":[{\"url\":\"\"},{\"url\":\"https://a.test/s.js\"}]}}"}`, initiated, "https://a.test/s.js script"},
		{"odd initiator", `{"_initiator":[],"_initiator_type":7}`, initiated, " "},

		{"type", `{"_resourceType":"Image"}`, func(e x) any { return e.Kind }, "image"},
		{"other type", `{"_resourceType":"other","request":{"headers":[{"name":"Sec-Fetch-Dest","value":"iframe"}]}}`, func(e x) any { return e.Kind }, "document"},
		{"accepts styles", `{"request":{"headers":[{"name":"accept","value":"text/css,*/*;q=0.1"}]}}`, func(e x) any { return e.Kind }, "stylesheet"},
		{"accepts pages", `{"request":{"headers":[{"name":"Accept","value":"text/html,application/xhtml+xml"}]}}`, func(e x) any { return e.Kind }, "document"},
		{"accepts images", `{"request":{"headers":[{"name":"Accept","value":"image/webp,*/*"}]}}`, func(e x) any { return e.Kind }, "image"},
		{"accepts JSON", `{"request":{"headers":[{"name":"Accept","value":"application/json"}]}}`, func(e x) any { return e.Kind }, "xhr"},
		{"asked for by a library", `{"request":{"headers":[{"name":"X-Requested-With","value":"XMLHttpRequest"}]}}`, func(e x) any { return e.Kind }, "xhr"},
		{"accepts anything", `{"request":{"headers":[{"name":"Accept","value":"*/*"}]}}`, func(e x) any { return e.Kind }, ""},
		{"priority", `{"_priority":"Low","_initialPriority":"High"}`, func(e x) any { return e.Priority }, "Low"},
		{"first priority", `{"_initialPriority":"High"}`, func(e x) any { return e.Priority }, "High"},
		{"CPU", `{"_cpuTimes":{"EvaluateScript":12}}`, func(e x) any { return e.CPU }, 12.0},
		{"media type", `{}`, func(e x) any { return e.MIME }, "text/css"},
		{"Chromium's unknown type", `{"response":{"content":{"mimeType":"x-unknown"}}}`, func(e x) any { return e.MIME }, ""},
		{"redirect", `{"response":{"status":302,"redirectURL":"/y"}}`, func(e x) any { return e.Header[1].Name + " " + e.Header[1].Value }, "location /y"},
		{"start", `{}`, func(e x) any { return e.Where }, "entry 1"},
	} {
		r := readText(t, log12(entryOf(t, c.change)), Options{})
		if got := c.got(r.Exchanges[0]); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func sizes(e recording.Exchange) any { return fmt.Sprint(e.Size, e.Transfer) }

func body(e recording.Exchange) any { return fmt.Sprintf("%s %t", e.Body, e.HasBody) }

func initiated(e recording.Exchange) any { return e.Initiator + " " + e.InitiatorType }

func TestTimes(t *testing.T) {
	want := time.Date(2020, 1, 1, 0, 0, 1, 500e6, time.UTC)
	for _, text := range []string{`"2020-01-01T00:00:01.5Z"`, `"2020-01-01T01:00:01.500+01:00"`, `"2020-01-01T01:00:01.500+0100"`, `"2020-01-01T00:00:01,5"`, `"2020-01-01 00:00:01.5"`,
		`1577836801500`, `"1577836801500"`, `1577836801.5`} {
		var m moment
		if err := m.UnmarshalJSON([]byte(text)); err != nil || !m.Equal(want) {
			t.Errorf("%s is %v, want %v", text, m, want)
		}
	}
	for _, text := range []string{`""`, `null`, `"yesterday"`, `[]`, `-1`, `"0001-01-01T00:00:00Z"`} {
		var m moment
		if err := m.UnmarshalJSON([]byte(text)); err != nil || !m.IsZero() {
			t.Errorf("%s is %v, want none", text, m)
		}
	}
	r := readText(t, log12(entryOf(t, `{"startedDateTime":"2020-01-01T00:00:03Z"}`), entryOf(t, `{"startedDateTime":"soon"}`), entryOf(t, `{"startedDateTime":"2020-01-01T00:00:01Z"}`)), Options{})
	var started []float64
	for _, e := range r.Exchanges {
		started = append(started, e.Started)
	}
	if !slices.Equal(started, []float64{0, 2000, 2000}) || !r.Began.Equal(time.Date(2020, 1, 1, 0, 0, 1, 0, time.UTC)) || r.Loaded != 0 {
		t.Errorf("started %v, loaded %v, since %v", started, r.Loaded, r.Began)
	}
}

// TestNotQuiteJSON covers files that JSON parsers reject.
func TestNotQuiteJSON(t *testing.T) {
	whole := log12(entryOf(t, `{"comment":"ü"}`))
	wide := utf16.Encode([]rune(whole))
	little, big := []byte("\xff\xfe"), []byte("\xfe\xff")
	for _, u := range wide {
		little, big = append(little, byte(u), byte(u>>8)), append(big, byte(u>>8), byte(u))
	}
	for name, text := range map[string]string{
		"as it is": whole, "byte order mark": "\xef\xbb\xbf" + whole, "UTF-16": string(little), "UTF-16, big-endian": string(big),
		"NaN": strings.Replace(whole, `"time":90`, `"time":NaN`, 1), "-Infinity": strings.Replace(whole, `"time":90`, `"time":-Infinity`, 1),
		"undefined": strings.Replace(whole, `"time":90`, `"time":undefined`, 1), "line break in a string": strings.Replace(whole, "ü", "\n\t\x00NaN", 1),
		"no UTF-8": strings.Replace(whole, "ü", "\xfc", 1), "entries alone": `{"entries":[` + entryOf(t, `{}`) + `]}`,
		"creator is a list": strings.Replace(whole, `"creator":{"name":"Test","version":"1"}`, `"creator":[1]`, 1),
	} {
		r := readText(t, text, Options{})
		if len(r.Exchanges) != 1 || r.Exchanges[0].URL != "https://a.test/x" || r.Exchanges[0].Wait != 40 {
			t.Errorf("%s: %+v", name, r.Exchanges)
		}
		if odd := name != "as it is" && name != "byte order mark" && name != "entries alone"; odd != (len(r.Repairs) > 0) {
			t.Errorf("%s: repairs are %+v", name, r.Repairs)
		}
	}
}

func TestRefusedFiles(t *testing.T) {
	whole := log12(entryOf(t, `{}`), entryOf(t, `{}`))
	for _, c := range []struct{ text, want string }{
		{"", "octet 0, line 1"}, {whole[:len(whole)-200], fmt.Sprintf("octet %d, line 2", len(whole)-200)}, {"{\n\"log\": }", "octet 10, line 2"}, {"<html>", "octet 1, line 1"},
		{"{}", "log.entries is missing or empty"}, {"[]", "log.entries is missing or empty"}, {"null", "log.entries is missing or empty"}, {`{"log":{"entries":[]}}`, "log.entries is missing or empty"}, {`{"log":7}`, "log.entries is missing or empty"},
	} {
		if _, err := Read(strings.NewReader(c.text), "test.har", Options{}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "test.har") {
			t.Errorf("%.30q: %v, want one with %q", c.text, err, c.want)
		}
	}
}

func TestPages(t *testing.T) {
	text := `{"log":{"pages":[{"id":"none","title":"Empty"},{"id":"a","title":"A","startedDateTime":"2020-01-01T00:00:00Z"},{"id":"2","title":"B","startedDateTime":"2020-01-01T00:01:00Z"}],"entries":[` +
		strings.Join([]string{
			entryOf(t, `{"pageref":"a","request":{"url":"https://a.test/1"}}`), entryOf(t, `{"pageref":"2","request":{"url":"https://a.test/2"}}`),
			entryOf(t, `{"pageref":null,"startedDateTime":"2020-01-01T00:00:30Z","request":{"url":"https://a.test/3"}}`),
			entryOf(t, `{"pageref":null,"startedDateTime":"2020-01-01T00:01:30Z","request":{"url":"https://a.test/4"}}`),
			entryOf(t, `{"pageref":"other","request":{"url":"https://a.test/5"}}`),
		}, ",") + `]}}`
	for _, c := range []struct{ page, want string }{
		{"", "/1 /3"}, {"a", "/1 /3"}, {"2", "/2 /4"}, {"3", "/2 /4"}, {"other", "/5"}, {"4", "/5"},
	} {
		r := readText(t, text, Options{Page: c.page})
		var got []string
		for _, e := range r.Exchanges {
			got = append(got, strings.TrimPrefix(e.URL, "https://a.test"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("page %q has %v, want %s", c.page, got, c.want)
		}
	}
	for page, want := range map[string]string{"b": `page "b" is not in the file`, "none": `page "none" has no entries`, "0": "is not in the file", "5": "is not in the file"} {
		_, err := Read(strings.NewReader(text), "test.har", Options{Page: page})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `1 "none" ("Empty"), 2 "a" ("A"), 3 "2" ("B"), 4 "other" ("")`) {
			t.Errorf("page %q: %v, want %q and the pages", page, err, want)
		}
	}
}

// TestNotesInsteadOfBodies covers files whose bodies were replaced by placeholders.
func TestNotesInsteadOfBodies(t *testing.T) {
	var entries []string
	for _, size := range []int{5, 100, 7, 9000} {
		entries = append(entries, entryOf(t, fmt.Sprintf(`{"response":{"content":{"size":%d,"text":"REMOVED"}}}`, size)))
	}
	r := readText(t, log12(entries...), Options{})
	for _, e := range r.Exchanges {
		if e.HasBody {
			t.Errorf("%s has a body", e.Where)
		}
	}
	if len(r.Repairs) != 1 || !strings.Contains(r.Repairs[0].What, "4 bodies are placeholders") {
		t.Errorf("%+v", r.Repairs)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"log":{"pages":[{"id":"p"}],"entries":[{"pageref":"p","startedDateTime":"2020-01-01T00:00:00Z","request":{"url":"https://a.test/"},"response":{"status":200,"content":{"size":9,"mimeType":"text/html"}}}]}}`), "")
	f.Add([]byte(`{"entries":[{"time":NaN,"request":{"method":"POST","url":"http://a.test:81/"},"response":{"status":"302","redirectURL":"/","headers":[{"name":"a","value":1}],"content":{"text":"QQ","encoding":"base64"}},"_initiator":{"stack":{}}}]}`), "1")
	f.Add([]byte("\xff\xfe{\x00}\x00"), "p")
	f.Fuzz(func(t *testing.T, data []byte, page string) {
		var r *recording.Recording
		var s *site.Site
		var repairs []recording.Repair
		var err error
		limits := recording.Limits{Body: 1 << 16, Total: 1 << 18} // which bodies are made to
		allowed := cost
		allowed.Fixed = 64 << 20
		costtest.Check(t, len(data), allowed, func() {
			if r, err = Read(bytes.NewReader(data), "fuzz", Options{Page: page, Limits: limits}); err == nil {
				s, repairs, err = r.Site("x", recording.Options{Limits: limits})
			}
		})
		if err != nil {
			return
		}
		left := 0
		for _, repair := range repairs {
			left += repair.LeftOut
		}
		if n := len(s.Resources) - (len(r.Exchanges) - left); n < 0 || n > 1 {
			t.Errorf("%d exchanges, %d left out, %d resources", len(r.Exchanges), left, len(s.Resources))
		}
	})
}
