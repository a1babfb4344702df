package site

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// mobileName is the name of the made pages that stand for those of mobile sites in 2012.
const mobileName = "mobile-2012"

// mobilePages is how many there are: as many as Welsh, Greenstein and Piatek loaded (SPDY Performance on Mobile
// Networks, Google 2012).
const mobilePages = 77

// mobileMean is the mean weight of a page served to a mobile device, in octets: HTTP Archive Mobile, November 2011, as
// in Everts, There are more mobile-optimized sites than ever, Radware 2014. The same source has 317 kB of images.
const mobileMean = 475_000

// mobileMix has the source's images. The other types' octets and all numbers of requests are Wiretime's choice: as many
// octets per request as on the mean page of 2013 (Mix2013).
var mobileMix = Mix{HTML: Share{3, 40}, CSS: Share{2, 20}, JS: Share{8, 98}, Image: Share{20, 317}}

// mobilePage returns the specification of the n-th page, from 1: the lightest first. The weights are the quantiles of a
// log-normal distribution (sigma 1), scaled to the mean; the number of objects varies around the weight's by another
// (sigma 0.5). A page has a host for every four of its objects, as the twenty sites of Kim et al. (2013), table 5, have
// (950 objects, 243 domains). The distributions are Wiretime's choice.
func mobilePage(n int) Spec {
	sum := 0.0
	for i := range mobilePages {
		sum += mobileQuantile(i + 1)
	}
	kilobytes := math.Round(mobileQuantile(n) / sum * mobilePages * mobileMean / 1000)
	random := rand.New(rand.NewPCG(2012, uint64(n)))
	requests := mobileMix.HTML.Requests + mobileMix.CSS.Requests + mobileMix.JS.Requests + mobileMix.Image.Requests
	objects := int(math.Round(kilobytes * 1000 / mobileMean * requests * math.Exp(random.NormFloat64()/2)))
	objects = min(max(objects, 4), int(kilobytes/2)) // at least 2 kB for each
	spec := Spec{
		Name: mobileName, Title: fmt.Sprintf("A mobile page of 2012, %d of %d by weight", n, mobilePages),
		Source:  "made by Wiretime, after the mean page of HTTP Archive Mobile, November 2011",
		Objects: objects, Domains: max(1, (objects+2)/4), Total: int64(kilobytes) * 1000,
		Sizes: SizesWeb, Depth: 3, Mix: mobileMix, Seed: uint64(n),
	}
	spec.limitDepth()
	return spec
}

// parseMobile reads the text after "mobile-2012@" in a reference: the number of a page, and its number of hosts if that
// is not to be its own, as in 10 or 10x1.
func parseMobile(ref, text string) (Spec, error) {
	number, hosts, given := strings.Cut(text, "x")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > mobilePages {
		return Spec{}, fmt.Errorf("site %q: the number after @ must be 1 to %d, as in %s@10", ref, mobilePages, mobileName)
	}
	spec := mobilePage(n)
	if given {
		spec.Domains, err = strconv.Atoi(hosts)
		if err != nil || spec.Domains < 1 || spec.Domains > spec.Objects {
			return Spec{}, fmt.Errorf("site %q: the number of hosts after x must be 1 to %d, the page's objects, as in %s@%dx1", ref, spec.Objects, mobileName, n)
		}
	}
	return spec, nil
}

// mobileQuantile returns the weight of the n-th page on a scale of its own.
func mobileQuantile(n int) float64 {
	p := (float64(n) - 0.5) / mobilePages
	return math.Exp(math.Sqrt2 * math.Erfinv(2*p-1))
}
