package site

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"math/rand/v2"
	"strings"
)

// journeyName is the name of the made site with several pages.
const journeyName = "journey"

// These sizes in octets make up a page of the journey: the medians of desktop home pages
// (HTTP Archive, Web Almanac 2024, chapter Page Weight) without fonts. Script and
// stylesheet are one file each here, and many on real pages.
const (
	journeyPageSize       = 18_000
	journeyStylesheetSize = 78_000
	journeyScriptSize     = 613_000
	journeyImagesSize     = 1_054_000 // of all images of a page, the logo among them
	journeyImages         = 18
	journeyLogoSize       = 8_000
)

// journeyPages are the pages of the shop, in the order of a visit.
var journeyPages = []struct{ Path, Title string }{
	{"/", "A small shop"},
	{"/lamps/", "Lamps"},
	{"/lamps/reading", "A reading lamp"},
	{"/basket", "Your basket"},
}

// Journey makes a site of four pages of a small shop on www.journey.test, visited one after
// the other. The pages share a stylesheet, a script and a logo, which a browser with a
// cache fetches only once. Each page has 17 images of its own, whose sizes are log-normal
// (sigma 1) and have the same total on every page. Images, stylesheet and script are padded
// with comments, so they cost a browser less than their size suggests. The result is always
// the same to the octet.
func Journey() (*Site, error) {
	const host = "https://www." + journeyName + ".test"
	s := &Site{
		Name: journeyName, Title: "A visit to a small shop", Source: "made by Wiretime, in sizes of HTTP Archive (2024)",
		Page: host + journeyPages[0].Path, bodies: map[string][]byte{},
	}
	random := rand.New(rand.NewPCG(2024, 10))
	for i, p := range journeyPages {
		images := make([]string, journeyImages-1)
		for k := range images {
			images[k] = fmt.Sprintf("/images/%d-%d.svg", i+1, k+1)
		}
		page, err := journeyPage(p.Title, images)
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", journeyName, err)
		}
		s.addMadePage(host+p.Path, page)
		if i == 0 {
			s.addResource(host+"/shop.css", []Header{{"content-type", contentTypes[".css"]}, unchanging}, filled(journeyStylesheet, journeyStylesheetSize))
			s.addResource(host+"/shop.js", []Header{{"content-type", contentTypes[".js"]}, unchanging}, filled(journeyScript, journeyScriptSize))
			s.addResource(host+"/logo.svg", []Header{{"content-type", contentTypes[".svg"]}, unchanging}, object(journeyLogoSize))
		} else {
			s.Journey = append(s.Journey, host+p.Path)
		}
		for k, size := range shares(random, journeyImagesSize-journeyLogoSize, len(images)) {
			s.addResource(host+images[k], []Header{{"content-type", contentTypes[".svg"]}, unchanging}, object(size))
		}
	}
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("make %s: %w", journeyName, err)
	}
	return s, nil
}

// shares splits total into n log-normal shares.
func shares(random *rand.Rand, total int64, n int) []int64 {
	weights, sum := make([]float64, n), 0.0
	for i := range weights {
		weights[i] = math.Exp(random.NormFloat64())
		sum += weights[i]
	}
	parts, rest := make([]int64, n), total
	for i := range parts[1:] {
		parts[i] = int64(float64(total) * weights[i] / sum)
		rest -= parts[i]
	}
	parts[n-1] = rest
	return parts
}

// filled pads a stylesheet or script to size with a comment.
func filled(text string, size int) []byte {
	const comment = "/**/\n"
	return []byte(text + "/*" + strings.Repeat(" ", size-len(text)-len(comment)) + "*/\n")
}

// journeyPage makes a page of journeyPageSize octets.
func journeyPage(title string, images []string) ([]byte, error) {
	data := struct {
		Title  string
		Images []string
		Words  string
	}{Title: title, Images: images}
	var page bytes.Buffer
	if err := journeyTemplate.Execute(&page, data); err != nil {
		return nil, err
	}
	// Each image carries its share of the words that pad the page; the last one takes the
	// rest.
	const words = "Plain things that last, made well and sold by those who made them. "
	each := (journeyPageSize - page.Len()) / len(images)
	data.Words = strings.Repeat(words, each/len(words)+1)[:each]
	page.Reset()
	if err := journeyTemplate.Execute(&page, data); err != nil {
		return nil, err
	}
	page.WriteString(strings.Repeat("\n", journeyPageSize-page.Len()))
	return page.Bytes(), nil
}

const journeyStylesheet = `body { margin: 2rem; font: 1rem/1.4 sans-serif; color: #222 }
main { display: grid; grid-template-columns: repeat(auto-fill, 16rem); gap: 1.5rem }
img { display: block }
`

const journeyScript = `document.documentElement.dataset.script = "ran";
`

// journeyTemplate gives every image its size and has an empty icon, as flagsPage does.
var journeyTemplate = template.Must(template.New(journeyName).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/shop.css">
<script src="/shop.js" defer></script>
</head>
<body>
<header><img src="/logo.svg" alt="The shop's logo" width="32" height="32"></header>
<h1>{{.Title}}</h1>
<main>
{{$words := .Words}}{{range .Images}}<article><img src="{{.}}" alt="" width="32" height="32"><p>{{$words}}</p></article>
{{end}}</main>
</body>
</html>
`))
