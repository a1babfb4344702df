package site

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
)

// pageName is the name of the site made to a specification.
const pageName = "page"

// maxDepth is the deepest nesting of requests in a made page.
const maxDepth = 10

// Spec describes a page to be made. [DefaultSpec] is a good start.
type Spec struct {
	// Name is the name of the site. Its hosts are www.<name>.test, s1.<name>.test,
	// s2.<name>.test and so on.
	Name string
	// Title is for people; if empty, Make describes the page.
	Title string
	// Source says where the numbers come from; empty means made by Wiretime.
	Source string
	// Objects is the number of responses, including the page's own HTML, as browsers' network
	// panels count: 1 to 1000.
	Objects int
	// Domains is the number of hosts, including the page's own: 1 to Objects.
	Domains int
	// Total is the sum of all bodies in octets: at least what the page's texts need, at most
	// 1,000,000,000.
	Total int64
	// Sizes says how Total is divided.
	Sizes Sizes
	// Depth is the length of the longest chain of requests below the page: 0 for a page alone,
	// 1 if the page requests everything itself, otherwise 2 to 10 and at most Objects-1. From
	// 2 on style sheets request fonts and images, and scripts request images and scripts.
	Depth int
	// Mix gives the number of objects of each type and their relative sizes; the zero value
	// means [Mix2024].
	Mix Mix
	// Seed drives all random draws: sizes, hosts, initiators, and the octets themselves.
	Seed uint64
	// Validators gives all objects an ETag, so that a reload can revalidate them. Otherwise only
	// the page has one.
	Validators bool
	// Servers gives the page's hosts distances and waits, as a recording has them; the zero value gives none.
	Servers Servers
}

// Sizes names a way to divide a page's octets among its objects.
type Sizes string

// These are the ways to divide a page's octets. Every object is at least large enough to
// name the objects it requests.
const (
	// SizesWeb draws each size from a log-normal distribution (sigma 1) around its type's mean.
	SizesWeb Sizes = "web"
	// SizesEqual gives all objects the same size, within an octet.
	SizesEqual Sizes = "equal"
	// SizesOneLarge gives nine tenths of all octets to one object, an image if there is one,
	// and divides the rest equally.
	SizesOneLarge Sizes = "one-large"
)

// Mix gives the composition of a page by type.
type Mix struct {
	HTML, CSS, JS, Font, Image Share
}

// Share is the share of one type in a page. Only proportions within a [Mix] count.
type Share struct {
	Requests float64 // 0 or more; those for HTML include the page
	Octets   float64 // in total, 0 or more
}

// Mix2024 returns the median desktop page of October 2024: HTTP Archive, Web Almanac 2024,
// chapter Page Weight, requests and kilobytes by type.
func Mix2024() Mix {
	return Mix{HTML: Share{2, 18}, CSS: Share{8, 78}, JS: Share{24, 613}, Font: Share{4, 131}, Image: Share{18, 1054}}
}

// Mix2013 returns the mean page of early 2013: HTTP Archive, requests and kilobytes by
// type, as in Grigorik, High Performance Browser Networking, O'Reilly 2013, chapter 10. The
// type "other" there (5 requests, 195 kB: fonts, Flash, data) is fonts here.
func Mix2013() Mix {
	return Mix{HTML: Share{10, 52}, CSS: Share{5, 36}, JS: Share{15, 216}, Font: Share{5, 195}, Image: Share{55, 812}}
}

// mixKinds are the types of a mix, by extension.
var mixKinds = [...]string{".html", ".css", ".js", ".woff2", ".png"}

func (m Mix) share(kind string) Share {
	switch kind {
	case ".html":
		return m.HTML
	case ".css":
		return m.CSS
	case ".js":
		return m.JS
	case ".woff2":
		return m.Font
	}
	return m.Image
}

// DefaultSpec returns a page with the number of requests and the weight of the median
// desktop page of October 2024 (HTTP Archive, Web Almanac 2024, chapter Page Weight: 71 and
// 2652 kB). The 14 hosts and the depth of 3 are Wiretime's choice.
func DefaultSpec() Spec {
	return Spec{Name: pageName, Objects: 71, Domains: 14, Total: 2_652_000, Sizes: SizesWeb, Depth: 3, Mix: Mix2024(), Seed: 1}
}

// limitDepth lowers the depth to what the number of objects allows.
func (s *Spec) limitDepth() { s.Depth = min(s.Depth, s.Objects-1) }

func (s *Spec) check() error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	if s.Objects < 1 || s.Objects > maxObjects {
		return fmt.Errorf("objects %d: want 1 to %d, the page among them", s.Objects, maxObjects)
	}
	if s.Domains < 1 || s.Domains > s.Objects {
		return fmt.Errorf("domains %d: want 1 to %d, the number of objects", s.Domains, s.Objects)
	}
	if s.Total < 1 || s.Total > maxObjectTotal {
		return fmt.Errorf("size %s: want no more than %s in all", formatSize(s.Total), formatSize(maxObjectTotal))
	}
	switch s.Sizes {
	case SizesWeb, SizesEqual, SizesOneLarge:
	default:
		return fmt.Errorf("sizes %q: want %s, %s or %s", s.Sizes, SizesWeb, SizesEqual, SizesOneLarge)
	}
	least, most := min(1, s.Objects-1), min(maxDepth, s.Objects-1)
	if s.Depth < least || s.Depth > most {
		return fmt.Errorf("depth %d: want %d to %d with %d objects", s.Depth, least, most, s.Objects)
	}
	var requests float64
	for _, kind := range mixKinds {
		of := s.Mix.share(kind)
		if !(of.Requests >= 0 && of.Octets >= 0 && of.Requests+of.Octets < math.MaxInt32) {
			return fmt.Errorf("mix of %s: %v requests and %v octets: want 0 or more", kind, of.Requests, of.Octets)
		}
		requests += of.Requests
	}
	if requests == 0 {
		return errors.New("mix: no type has requests")
	}
	return nil
}

// count divides the objects among the types: first what the depth needs, then always the
// type that is furthest below its share.
func (s *Spec) count() map[string]int {
	var requests float64
	for _, kind := range mixKinds {
		requests += s.Mix.share(kind).Requests
	}
	counts := map[string]int{".html": 1}
	if s.Depth > 1 {
		counts[".js"] = s.Depth - 1
		if s.Mix.Image.Requests > 0 {
			counts[".png"] = 1
		} else {
			counts[".js"]++
		}
	}
	for have := counts[".html"] + counts[".js"] + counts[".png"]; have < s.Objects; have++ {
		best, lack := "", math.Inf(-1)
		for _, kind := range mixKinds {
			of := s.Mix.share(kind).Requests
			if l := of/requests*float64(s.Objects) - float64(counts[kind]); of > 0 && l > lack {
				best, lack = kind, l
			}
		}
		counts[best]++
	}
	return counts
}

// weights returns the parts' shares of the octets, the page first.
func (s *Spec) weights(random *rand.Rand, parts []*part) []int64 {
	weights := make([]int64, len(parts))
	large := len(parts) - 1
	for i, p := range parts {
		weights[i] = 1
		if s.Sizes == SizesWeb {
			mean := 1.0
			if of := s.Mix.share(p.kind); of.Requests > 0 {
				mean = min(of.Octets/of.Requests, maxObjectTotal)
			}
			// Whole numbers make machines agree whose floating point differs in the last place.
			weights[i] = 1 + int64(math.Round(1000*mean*math.Exp(random.NormFloat64())))
		}
		if p.kind == ".png" && parts[large].kind != ".png" {
			large = i
		}
	}
	if s.Sizes == SizesOneLarge {
		weights[large] = 9 * max(1, int64(len(parts)-1))
	}
	return weights
}

// spread divides total by weights, which must be positive, and gives each at least its
// entry in least. The sum of least must not exceed total.
func spread(total int64, least, weights []int64) []int64 {
	sizes, fixed := make([]int64, len(least)), make([]bool, len(least))
	rest, sum := total, int64(0)
	for _, w := range weights {
		sum += w
	}
	for again := true; again; {
		again = false
		for i := range sizes {
			if !fixed[i] && portion(rest, weights[i], sum) < least[i] {
				sizes[i], fixed[i], again = least[i], true, true
				rest -= least[i]
				sum -= weights[i]
			}
		}
	}
	left := rest
	for i := range sizes {
		if !fixed[i] {
			sizes[i] = portion(rest, weights[i], sum)
			left -= sizes[i]
		}
	}
	for i := range sizes {
		if !fixed[i] && left > 0 {
			sizes[i]++
			left--
		}
	}
	return sizes
}

// portion returns whole*weight/sum, rounded down. weight is at most sum.
func portion(whole, weight, sum int64) int64 {
	high, low := bits.Mul64(uint64(whole), uint64(weight))
	quotient, _ := bits.Div64(high, low, uint64(sum))
	return int64(quotient)
}

// parsePage reads the text after "page@" in a reference: the numbers of objects and
// domains, and the total size, as in 52x17x1592.43kB. Errors give the column within ref,
// from 1.
func parsePage(ref string) (Spec, error) {
	const form = "write it as in page@52x17x1592.43kB"
	spec := DefaultSpec()
	_, text, _ := strings.Cut(ref, "@")
	at := len(ref) - len(text)
	for _, field := range []struct {
		name string
		to   *int
	}{{"objects", &spec.Objects}, {"domains", &spec.Domains}} {
		digits := leadingDigits(ref[at:])
		n, err := strconv.Atoi(ref[at : at+digits])
		if err != nil {
			return Spec{}, fmt.Errorf("site %q, column %d: want a number of %s, 1 to %d: %s", ref, at+1, field.name, maxObjects, form)
		}
		if at += digits; at == len(ref) || ref[at] != 'x' {
			return Spec{}, fmt.Errorf("site %q, column %d: want an x after the number of %s: %s", ref, at+1, field.name, form)
		}
		*field.to = n
		at++
	}
	var err error
	if spec.Total, err = ParseSize(ref[at:]); err != nil {
		return Spec{}, fmt.Errorf("site %q, column %d: %w: %s", ref, at+1, err, form)
	}
	spec.limitDepth()
	if err := spec.Check(); err != nil {
		return Spec{}, fmt.Errorf("site %q: %w", ref, err)
	}
	return spec, nil
}

// ParseSize reads a size in B, kB or MB, as in 1592.43kB: a whole number of octets, at most
// 1,000,000,000. k is 1000.
func ParseSize(text string) (int64, error) {
	wrong := fmt.Errorf("size %q: want a number and B, kB or MB, as in 1592.43kB, %s at most", text, formatSize(maxObjectTotal))
	number := strings.TrimRight(text, "kMB")
	places := 0 // decimal places that the unit shifts
	switch text[len(number):] {
	case "B":
	case "kB":
		places = 3
	case "MB":
		places = 6
	default:
		return 0, wrong
	}
	whole, fraction, point := strings.Cut(number, ".")
	if whole == "" || leadingDigits(whole) < len(whole) || leadingDigits(fraction) < len(fraction) || point && fraction == "" {
		return 0, wrong
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > places {
		return 0, fmt.Errorf("size %q: not a whole number of octets", text)
	}
	octets, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 64)
	if err != nil || octets > maxObjectTotal {
		return 0, wrong
	}
	return octets, nil
}
