package site

import (
	"slices"
	"strings"
)

// The pages that papers measured and of which nothing is left but numbers.
const (
	kimTable1 = "Kim, Yi, Lee: A Research on the Performance Analysis of SPDY Protocol in Mobile Networks, 2013, table 1"
	kimTable5 = "Kim, Yi, Lee: A Research on the Performance Analysis of SPDY Protocol in Mobile Networks, 2013, table 5"
	kimTable8 = "Kim, Yi, Lee: A Research on the Performance Analysis of SPDY Protocol in Mobile Networks, 2013, table 8, which gives no domains"
	namPage   = "Nam, Jung, Choi, Koh: Performance Analysis of QUIC Protocol for Web and Streaming Services, 2021, section 3.2, which gives no sizes"
	cablelabs = "White, Mulé, Rice: Analysis of Google SPDY and TCP Initcwnd, CableLabs 2012, of whose pages only kinds are known; numbers by Wiretime"
	lulic     = "Lulic: Midiendo la Performance de SPDY, 2013, section 4.1: a copy by the browser's Save as, so from one host; a reconstruction, "
)

// paperPages are the pages of papers, rebuilt from the papers' numbers. KB is 1000 octets.
// Where a paper prints no number, Wiretime chose one: object types are those of the mean
// page of 2013, and sizes are drawn. Requests nest three deep on pages with other
// companies' hosts, and one deep on test beds, whose pages were made for the test.
//
// Kim et al. count the page itself among its objects: table 8 has a site of one object.
// Both tables 1 and 5 list Google Play. Lulic's paper says that amazon has much content,
// yahoo and bing little. The numbers of amazon are those of April 2013 in Dorsey, Web Page
// Size, Speed, and Performance, O'Reilly 2014. The numbers of bing are those that
// tangentish.com measured in June 2014 (search engine network activity). Those of yahoo and
// of Nam's page are Wiretime's own.
//
// All objects of the pages of Kim et al. have validators, because their browsers loaded each page
// a hundred times in a row.
var paperPages = []Spec{
	{Name: "kim-google-play", Title: "Google Play", Source: kimTable5 + ", and table 1", Objects: 52, Domains: 17, Total: 1_592_430, Depth: 3},
	{Name: "kim-2mb", Title: "A Korean site of 2 MB", Source: kimTable1, Objects: 88, Domains: 4, Total: 2_299_990, Depth: 3},
	{Name: "kim-4mb", Title: "A Korean site of 4 MB", Source: kimTable1, Objects: 86, Domains: 6, Total: 3_985_020, Depth: 3},
	{Name: "kim-google-plus", Title: "Google plus", Source: kimTable5, Objects: 7, Domains: 4, Total: 41_840, Depth: 3},
	{Name: "kim-gmail", Title: "Gmail", Source: kimTable5, Objects: 11, Domains: 4, Total: 51_460, Depth: 3},
	{Name: "kim-lgvita", Title: "lgvita.com", Source: kimTable5, Objects: 12, Domains: 6, Total: 136_460, Depth: 3},
	{Name: "kim-webtide", Title: "Webtide", Source: kimTable5, Objects: 18, Domains: 2, Total: 177_540, Depth: 3},
	{Name: "kim-erianna", Title: "Erianna", Source: kimTable5, Objects: 19, Domains: 3, Total: 217_000, Depth: 3},
	{Name: "kim-google-shopping", Title: "Google shopping", Source: kimTable5, Objects: 15, Domains: 5, Total: 264_040, Depth: 3},
	{Name: "kim-wordpress", Title: "WordPress", Source: kimTable5, Objects: 17, Domains: 11, Total: 268_250, Depth: 3},
	{Name: "kim-twitter", Title: "Twitter", Source: kimTable5, Objects: 12, Domains: 3, Total: 288_230, Depth: 3},
	{Name: "kim-cloudflare", Title: "CloudFlare", Source: kimTable5, Objects: 32, Domains: 4, Total: 445_680, Depth: 3},
	{Name: "kim-lilp-blog", Title: "Lilp Blog", Source: kimTable5, Objects: 25, Domains: 4, Total: 648_770, Depth: 3},
	{Name: "kim-youtube", Title: "YouTube", Source: kimTable5, Objects: 60, Domains: 13, Total: 735_650, Depth: 3},
	{Name: "kim-google-news", Title: "Google news", Source: kimTable5, Objects: 53, Domains: 6, Total: 740_460, Depth: 3},
	{Name: "kim-google-maps", Title: "Google maps", Source: kimTable5, Objects: 53, Domains: 5, Total: 836_920, Depth: 3},
	{Name: "kim-is-the-spdy-protocol", Title: "Is the spdy protocol?", Source: kimTable5, Objects: 31, Domains: 12, Total: 1_002_910, Depth: 3},
	{Name: "kim-humble-bundle", Title: "Humble bundle", Source: kimTable5, Objects: 99, Domains: 24, Total: 1_630_220, Depth: 3},
	{Name: "kim-tech-crunch", Title: "Tech Crunch", Source: kimTable5, Objects: 174, Domains: 55, Total: 1_880_330, Depth: 3},
	{Name: "kim-anizon", Title: "Anizon", Source: kimTable5, Objects: 90, Domains: 4, Total: 2_353_930, Depth: 3},
	{Name: "kim-vip-wordpress", Title: "VIP WordPress", Source: kimTable5, Objects: 57, Domains: 22, Total: 3_802_770, Depth: 3},
	{Name: "kim-gigaom", Title: "gigaom", Source: kimTable5, Objects: 113, Domains: 39, Total: 5_499_830, Depth: 3},
	{Name: "kim-site-1", Title: "Site 1", Source: kimTable8, Objects: 20, Domains: 1, Total: 127_300, Depth: 1},
	{Name: "kim-site-2", Title: "Site 2", Source: kimTable8, Objects: 1, Domains: 1, Total: 870_000, Depth: 0},
	{Name: "kim-site-3", Title: "Site 3", Source: kimTable8, Objects: 1, Domains: 1, Total: 18_506_470, Depth: 0},
	{Name: "kim-site-4", Title: "Site 4", Source: kimTable8, Objects: 3, Domains: 1, Total: 42_891_830, Depth: 1, Mix: kimLargeMix},
	{Name: "nam-page", Title: "HTML, CSS, JS and five images", Source: namPage, Objects: 8, Domains: 1, Total: 500_000, Depth: 1, Mix: namMix},
	{Name: "lulic-amazon", Title: "www.amazon.com", Source: lulic + "by its weight of April 2013", Objects: 126, Domains: 1, Total: 658_000, Depth: 2},
	{Name: "lulic-bing", Title: "www.bing.com", Source: lulic + "by its weight of June 2014, most of it one image", Objects: 51, Domains: 1, Total: 337_000, Depth: 2, Sizes: SizesOneLarge},
	{Name: "lulic-yahoo", Title: "login.yahoo.com", Source: lulic + "by what such pages are made of", Objects: 12, Domains: 1, Total: 180_000, Depth: 2},
	{Name: "cablelabs-small", Title: "A hundred small images", Source: cablelabs, Objects: 101, Domains: 1, Total: 420_000, Sizes: SizesEqual, Depth: 1, Mix: imagesMix},
	{Name: "cablelabs-small-4", Title: "A hundred small images on four servers", Source: cablelabs, Objects: 101, Domains: 4, Total: 420_000, Sizes: SizesEqual, Depth: 1, Mix: imagesMix},
	{Name: "cablelabs-mixed", Title: "The mean page of 2013, somewhat lighter", Source: cablelabs, Objects: 61, Domains: 1, Total: 900_000, Depth: 2},
	{Name: "cablelabs-mixed-4", Title: "The mean page of 2013, somewhat lighter, on four servers", Source: cablelabs, Objects: 61, Domains: 4, Total: 900_000, Depth: 2},
	{Name: "cablelabs-large", Title: "Eight large images", Source: cablelabs, Objects: 9, Domains: 1, Total: 2_000_000, Depth: 1, Mix: imagesMix},
	{Name: "cablelabs-large-4", Title: "Eight large images on four servers", Source: cablelabs, Objects: 9, Domains: 4, Total: 2_000_000, Depth: 1, Mix: imagesMix},
}

// imagesMix has nearly all octets in images.
var imagesMix = Mix{HTML: Share{1, 1}, Image: Share{100, 400}}

// kimLargeMix gives nearly all octets to two large images.
var kimLargeMix = Mix{HTML: Share{1, 10}, Image: Share{2, 40_000}}

// namMix has one file of each type and five images, which have two thirds of the octets.
var namMix = Mix{HTML: Share{1, 15}, CSS: Share{1, 25}, JS: Share{1, 120}, Image: Share{5, 340}}

// paperPage returns the specification of a paper's page.
func paperPage(name string) (Spec, bool) {
	named := func(s Spec) bool { return s.Name == name }
	var spec Spec
	if i := slices.IndexFunc(paperPages, named); i >= 0 {
		spec = paperPages[i]
	} else if i := slices.IndexFunc(weekPages, named); i >= 0 {
		spec = weekPage(weekPages[i])
	} else {
		return Spec{}, false
	}
	spec.Seed = 1
	spec.Validators = strings.HasPrefix(name, "kim-")
	if spec.Sizes == "" {
		spec.Sizes = SizesWeb
	}
	if spec.Mix == (Mix{}) {
		spec.Mix = Mix2013()
	}
	return spec, true
}
