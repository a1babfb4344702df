package site

import (
	"bytes"
	"fmt"
	"html/template"
	"math/rand/v2"
)

// The names of the made sites of Kolmogortsev's two tests.
const (
	searchName     = "search"
	searchFullName = "search-full"
)

// maxSearches is how many pages of results there may be.
const maxSearches = 200

// The sizes of a page of results, in octets: what Kolmogortsev (2011) says of the HTML
// alone and of the page with its content.
const (
	searchHTML = 70_000
	searchFull = 250_000
)

// searchContent are the parts of a page of results beside its HTML, in octets. The
// paper does not say how many there were. Its sequential client, one request to a
// connection, took 0.45 s for a page's HTML and 2.48 s for all of it (50 pages in 22.53 s
// and in 123.9 s), so about five and a half requests to the page's one.
var searchContent = []int{30_000, 30_000, 40_000, 40_000, 40_000}

// Search makes the site of Kolmogortsev, Testing the performance of the web protocol
// SPDY by a client of one's own (2011): count pages of a search engine's results, asked
// for at the same moment, by one host. Each has 70 kB of HTML; full ones have scripts and
// images of their own, 250 kB in all. count is 1 to 200.
//
// It is a reconstruction: the paper's pages were those of an engine as it was then, and
// nothing of them is left but their sizes.
func Search(count int, full bool) (*Site, error) {
	name, title := searchName, "HTML"
	if full {
		name, title = searchFullName, "content"
	}
	if count < 1 || count > maxSearches {
		return nil, fmt.Errorf("make %s: %d pages: want 1 to %d", name, count, maxSearches)
	}
	const host = "www.search.test"
	s := &Site{
		Name:   name,
		Title:  fmt.Sprintf("%d pages of results with their %s", count, title),
		Source: "made by Wiretime after the sizes of Kolmogortsev (2011)",
		bodies: map[string][]byte{},
	}
	random := rand.New(rand.NewPCG(1, 2))
	var pages []string
	for n := 1; n <= count; n++ {
		page := fmt.Sprintf("https://%s/search?q=%d", host, n)
		pages = append(pages, page)
		var scripts, images []string
		if full {
			for i, size := range searchContent {
				m := made{host: host, path: fmt.Sprintf("/%d/%d.svg", n, i), size: size, image: [2]int{160, 90}}
				if i < 2 {
					m = made{host: host, path: fmt.Sprintf("/%d/%d.js", n, i), size: size}
					scripts = append(scripts, m.path)
				} else {
					images = append(images, m.path)
				}
				s.addMade(random, m)
			}
		}
		var html bytes.Buffer
		if err := searchPage.Execute(&html, map[string]any{"Number": n, "Scripts": scripts, "Images": images}); err != nil {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
		html.WriteString("<!--")
		fill(random, &html, searchHTML-len("-->"))
		html.WriteString("-->")
		s.addMadePage(page, html.Bytes())
	}
	s.Page, s.Tabs = pages[0], pages[1:]
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	return s, nil
}

var searchPage = template.Must(template.New(searchName).Parse(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>{{.Number}}</title>
<link rel="icon" href="data:,">
{{range .Scripts}}<script src="{{.}}" async></script>
{{end}}<body>
{{range .Images}}<img src="{{.}}" alt="" width="160" height="90">
{{end}}`))
