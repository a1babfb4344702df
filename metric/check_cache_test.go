package metric

import (
	"testing"

	"wiretime/capture"
)

// TestCheckCache looks at visits that keep connections and cache: what must be in the cache,
// what a reload must ask for, and whether the answers fit the questions.
func TestCheckCache(t *testing.T) {
	const page = "https://www.example.test/"
	set := func(to *[]capture.Pair, fields ...string) {
		for i := 0; i < len(fields); i += 2 {
			*to = append(*to, capture.Pair{Name: fields[i], Value: fields[i+1]})
		}
	}
	// revalidated is a second visit on an open connection: the document is unchanged.
	revalidated := func() *scene {
		s := h2Scene()
		s.records = s.records[2*5:]
		e := &s.entries[0]
		e.Revisited, e.Response.Status, s.log[0].Status = true, 304, 304
		set(&e.Request.Headers, "if-none-match", `"1"`)
		set(&e.Response.Headers, "etag", `"1"`)
		return s
	}
	// image adds an image that the earlier visit got too, and that the server sends whole.
	image := func(s *scene, fields ...string) *capture.Entry {
		s.fetch(412, 413, page+"a.png", "h2")
		e := &s.entries[len(s.entries)-1]
		e.Revisited = true
		set(&e.Response.Headers, fields...)
		return e
	}
	fromCache := func(s *scene, e *capture.Entry) {
		e.FromCache = "disk"
		s.log = s.log[:len(s.log)-1]
	}
	const dropped = "the client fetched 1 resource whole that the earlier visit had left in its cache: " + page + "a.png"
	const year = "max-age=31536000"
	for _, c := range []struct {
		name, visit string
		change      func(s *scene)
		want        string // of rule 2; empty: it is sound
	}{
		{"the document alone", "again", func(*scene) {}, ""},
		{"the rest from the cache", "again", func(s *scene) { fromCache(s, image(s, "cache-control", year)) }, ""},
		{"new on the page", "again", func(s *scene) { image(s, "cache-control", year).Revisited = false }, ""},
		{"never to be stored", "again", func(s *scene) { image(s, "cache-control", "no-store", "etag", `"2"`) }, ""},
		{"neither fresh nor with a validator", "again", func(s *scene) { image(s) }, ""},
		{"fresh for less than a visit may take", "again", func(s *scene) { image(s, "cache-control", "max-age=60") }, ""},
		{"fresh, but must be revalidated", "again", func(s *scene) { image(s, "cache-control", "no-cache, "+year) }, ""},
		{"as old as its recording", "again", func(s *scene) { image(s, "cache-control", "max-age=90000", "age", "80000") }, ""},
		{"dated from its recording", "again", func(s *scene) {
			image(s, "cache-control", "max-age=90000", "date", "Mon, 01 Jul 2013 10:00:00 GMT")
		}, ""},
		{"fresh for less than no time", "again", func(s *scene) {
			image(s, "cache-control", "max-age=-2147483648", "date", "Mon, 01 Jan 0001 00:00:00 GMT")
		}, ""},
		{"another for each user", "again", func(s *scene) { image(s, "cache-control", year, "vary", "Cookie") }, ""},
		{"a script wants it from the server", "again", func(s *scene) {
			set(&image(s, "cache-control", year).Request.Headers, "Cache-Control", "no-cache")
		}, ""},
		{"not waited for", "again", func(s *scene) { image(s, "cache-control", year).Unawaited = "repeated" }, ""},
		{"fresh and thrown away", "again", func(s *scene) { image(s, "cache-control", "public, "+year, "vary", "Accept-Encoding") }, dropped},
		{"with a validator and thrown away", "again", func(s *scene) { image(s, "last-modified", "Mon, 01 Jul 2013 10:00:00 GMT") }, dropped},
		{"with a validator and thrown away before a reload", "reload", func(s *scene) { image(s, "etag", `"2"`) }, dropped},
		{"thrown away on closed connections", "cached", func(s *scene) { s.log[0].Resumed = true; image(s, "etag", `"2"`) }, dropped},
		{"the validator is not recognised", "again", func(s *scene) {
			set(&image(s, "etag", `"2"`).Request.Headers, "If-None-Match", `"2"`)
		}, "the server answered 1 conditional request with 200 instead of 304: " + page + "a.png"},
		{"reloaded with its images", "reload", func(s *scene) {
			e := image(s, "etag", `"2"`)
			set(&e.Request.Headers, "if-modified-since", "Mon, 01 Jul 2013 10:00:00 GMT")
			e.Response.Status, s.log[1].Status = 304, 304
		}, ""},
		{"reloaded, the images from the cache", "reload", func(s *scene) { fromCache(s, image(s, "cache-control", year)) }, ""},
		{"reloaded, an image without validators", "reload", func(s *scene) { image(s, "cache-control", year) }, ""},
		{"reloaded without asking for the document", "reload", func(s *scene) {
			fromCache(s, &s.entries[0])
			image(s)
			s.log = s.log[:0]
			s.fetch(412, 413, page+"a.png", "h2")
			s.entries = s.entries[:2]
		}, "the page was to be reloaded, but 1 document came from the cache without a request: " + page},
		{"304 for what the client has not got", "again", func(s *scene) {
			image(s).Response.Status, s.log[1].Status = 304, 304
		}, "the server answered 1 unconditional request with 304: " + page + "a.png"},
		{"304 on a first visit", "cold", func(s *scene) {
			s.records, s.entries[0].Request.Headers = h2Scene().records, nil
		}, "the server answered 1 unconditional request with 304: " + page},
		{"connected anew", "again", func(s *scene) { s.records = h2Scene().records },
			"1 origin, visited before, answered on new connections alone, as if none had been open: www.example.test"},
		{"connected anew for a reload", "reload", func(s *scene) { s.records = h2Scene().records },
			"1 origin, visited before, answered on new connections alone, as if none had been open: www.example.test"},
		{"early data on an open connection", "reload", func(s *scene) { s.log[0].EarlyData = true }, "1 request came as early data: GET " + page},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := revalidated()
			c.change(s)
			l := s.load(t, "h2")
			l.Visit = c.visit
			expectState(t, Pages().Violations(l), c.want)
		})
	}
}
