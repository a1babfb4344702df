package site

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Make makes a page to a specification, with exactly the given numbers of objects, hosts
// and octets. The page is well-formed, and a browser that loads it requests each object
// once and nothing else. Only its texts are compressible, and none is sent compressed.
// Texts are padded with comments, images are PNGs of noise, and fonts are noise that
// browsers fetch and then discard. The archive names the initiator of every object that
// only a script requests ([Resource].Initiator).
//
// The page's layout, initiators and hosts are drawn at random; of every three scripts one
// is deferred, one is async and one blocks the parser. The i-th host has a weight of 1/i
// and at least one object. The same specification always gives the same octets.
//
// The error names the field that is out of range, and the range.
func Make(spec Spec) (*Site, error) {
	parts, err := spec.plan()
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", spec.Name, err)
	}
	s := &Site{
		Name: spec.Name, Title: spec.Title, Source: spec.Source,
		Page: "https:" + parts[0].url, bodies: map[string][]byte{},
	}
	if s.Title == "" {
		s.Title = fmt.Sprintf("%d objects on %d hosts, %s in all", spec.Objects, spec.Domains, formatSize(spec.Total))
	}
	if s.Source == "" {
		s.Source = "made by Wiretime"
	}
	random := rand.New(rand.NewPCG(spec.Seed, 2))
	s.addMadePage(s.Page, parts[0].body(random))
	for _, p := range parts[1:] {
		host, path, _ := strings.Cut(strings.TrimPrefix(p.url, "//"), "/")
		m := made{host: host, path: "/" + path, shared: p.kind == ".woff2"}
		if p.by.kind == ".js" {
			m.by = strings.TrimPrefix(p.by.url, "//")
		}
		body := p.body(random)
		if spec.Validators {
			m.tag = entityTag(body)
		}
		s.addPart(m, body)
	}
	if spec.Servers != (Servers{}) {
		s.placeServers(spec)
	}
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("make %s: %w", spec.Name, err)
	}
	return s, nil
}

// Check returns an error if [Make] would reject the specification. It does not make the
// page.
func (s Spec) Check() error {
	_, err := s.plan()
	return err
}

// part is an object of a page to be made.
type part struct {
	kind  string   // its extension
	url   string   // without scheme, so that it also works over http
	name  string   // the class that style sheets and the page use for it
	by    *part    // the initiator; nil for the page
	level int      // how many requests precede its own
	text  []string // required text; padding goes between the parts, or after a single one
	size  int64
}

// plan lays out a page without its padding. The first part is the page's HTML.
func (s Spec) plan() ([]*part, error) {
	if s.Mix == (Mix{}) {
		s.Mix = Mix2024()
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(s.Seed, 1))
	parts := s.parts(random)
	s.place(random, parts)
	write(random, parts)
	least, sum := make([]int64, len(parts)), int64(0)
	for i, p := range parts {
		least[i] = p.least()
		sum += least[i]
	}
	if s.Total < sum {
		return nil, fmt.Errorf("size %s: want %s to %s with %d objects", formatSize(s.Total), formatSize(sum), formatSize(maxObjectTotal), s.Objects)
	}
	for i, size := range spread(s.Total, least, s.weights(random, parts)) {
		parts[i].size = size
	}
	return parts, nil
}

// parts draws the page's objects and their initiators.
func (s *Spec) parts(random *rand.Rand) []*part {
	counts := s.count()
	page := &part{kind: ".html"}
	parts := []*part{page}
	var sheets, scripts []*part // that may request more
	add := func(kind string, by *part) *part {
		p := &part{kind: kind, name: fmt.Sprintf("%s%d", kind[1:2], len(parts)), by: by, level: by.level + 1}
		parts = append(parts, p)
		return p
	}
	one := func(of []*part) *part { return of[random.IntN(len(of))] }
	for range counts[".css"] {
		if p := add(".css", page); s.Depth > 1 {
			sheets = append(sheets, p)
		}
	}
	chain := s.Depth - 1 // scripts that the depth needs; an image ends the chain
	if counts[".png"] == 0 {
		chain = s.Depth
	}
	for i := range counts[".js"] {
		by := page
		switch {
		case 0 < i && i < chain:
			by = scripts[i-1]
		case len(scripts) > 0 && random.IntN(3) == 0:
			by = one(scripts)
		}
		if p := add(".js", by); p.level < s.Depth {
			scripts = append(scripts, p)
		}
	}
	for range counts[".woff2"] {
		by := page
		if len(sheets) > 0 {
			by = one(sheets)
		}
		add(".woff2", by)
	}
	for i := range counts[".png"] {
		by := page
		switch draw := random.IntN(20); {
		case i == 0 && len(scripts) > 0:
			by = scripts[chain-1]
		case draw < 3 && len(scripts) > 0:
			by = one(scripts)
		case draw < 6 && len(sheets) > 0:
			by = one(sheets)
		}
		add(".png", by)
	}
	for range counts[".html"] - 1 {
		add(".html", page)
	}
	return parts
}

// place assigns each part its host and URL.
func (s *Spec) place(random *rand.Rand, parts []*part) {
	hosts := make([]string, s.Domains)
	var sum float64
	for i := range hosts {
		hosts[i] = fmt.Sprintf("s%d.%s.test", i, s.Name)
		sum += 1 / float64(i+1)
	}
	hosts[0] = "www." + s.Name + ".test"
	parts[0].url = "//" + hosts[0] + "/"
	for n, i := range random.Perm(len(parts) - 1) {
		at := n + 1 // each other host once, then by weight
		if at >= len(hosts) {
			at = 0
			for draw := random.Float64() * sum; at < len(hosts)-1 && draw >= 1/float64(at+1); at++ {
				draw -= 1 / float64(at+1)
			}
		}
		p := parts[i+1]
		p.url = fmt.Sprintf("//%s/%s%s", hosts[at], p.name, p.kind)
	}
}

// least returns a part's size in octets without padding.
func (p *part) least() int64 {
	switch p.kind {
	case ".png":
		return leastNoise
	case ".woff2":
		return 1
	}
	var sum int64
	for _, text := range p.text {
		sum += int64(len(text))
	}
	return sum
}

// body renders a part, padded to its size.
func (p *part) body(random *rand.Rand) []byte {
	var b bytes.Buffer
	switch p.kind {
	case ".png":
		return noise(random, p.size)
	case ".woff2":
		for int64(b.Len()) < p.size {
			b.WriteByte(byte(random.Uint32()))
		}
		return b.Bytes()
	}
	before, after := "/*", "*/"
	if p.kind == ".html" {
		before, after = "<!--", "-->"
	}
	filling, gaps := p.size-p.least(), int64(max(1, len(p.text)-1))
	for i, text := range p.text {
		b.WriteString(text)
		if n := int64(i); n < gaps {
			comment(random, &b, int(filling*(n+1)/gaps-filling*n/gaps), before, after)
		}
	}
	return b.Bytes()
}

// comment writes a comment of exactly size octets, or spaces if it does not fit.
func comment(random *rand.Rand, b *bytes.Buffer, size int, before, after string) {
	end := b.Len() + size
	if size < len(before)+len(after) {
		b.WriteString(strings.Repeat("\n", size))
		return
	}
	b.WriteString(before)
	fill(random, b, end-len(after))
	b.WriteString(after)
}
