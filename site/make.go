package site

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Make makes a page to a specification: so many objects on so many hosts with so many
// octets, exactly. It is well-formed, and a browser that loads it asks for each object once
// and for nothing else. Nothing in it is compressible but its texts, none of which is sent
// compressed: text is filled up with comments, images are PNGs of noise, fonts are noise
// that browsers fetch and then do without. What only scripts ask for, they do ask for, and
// the archive says so ([Resource].Initiator).
//
// How the page looks, who asks for what and where it is are draws: of three scripts one
// waits for the end, one for nothing, one holds up the parser. The i-th host has a weight of
// 1/i, and at least one object. The same specification gives the same octets, always.
//
// An error names the field that is out of its range, and the range.
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
		s.addPart(m, p.body(random))
	}
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("make %s: %w", spec.Name, err)
	}
	return s, nil
}

// Check says what is wrong with a specification, without making the page: see [Make].
func (s Spec) Check() error {
	_, err := s.plan()
	return err
}

// part is an object of a page that is to be made.
type part struct {
	kind  string   // its extension
	url   string   // without scheme, so that it works in the clear as well
	name  string   // that style sheets and the page have for it
	by    *part    // what asks for it; nil: it is the page
	level int      // how many requests come before its own
	text  []string // what it must say; its filling comes between these, or after a single one
	size  int64
}

// plan is all of a page but its filling: the page's HTML is the first part.
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

// parts decides what there is, and who asks for it.
func (s *Spec) parts(random *rand.Rand) []*part {
	counts := s.count()
	page := &part{kind: ".html"}
	parts := []*part{page}
	var sheets, scripts []*part // that may ask for more
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
	chain := s.Depth - 1 // the scripts that the depth needs; an image is the end
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

// place gives each part its host and its URL.
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
		at := n + 1 // each host but the page's once, then by weight
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

// least is how many octets a part has without any filling.
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

// body fills a part up to its size.
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

// comment writes a comment of so many octets, or space if there is no room for one.
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
