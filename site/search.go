package site

import (
	"bytes"
	"fmt"
	"html/template"
	"math/rand/v2"
	"slices"
)

// These are the names of the made sites for Kolmogortsev's two tests.
const (
	searchName     = "search"
	searchFullName = "search-full"
)

// maxSearches limits the number of result pages.
const maxSearches = 200

// These are the sizes in octets that Kolmogortsev gives for a result page: the HTML
// alone, and all its content.
const (
	searchHTML = 70_000
	searchFull = 250_000
)

// searchContent holds the sizes in octets of a result page's subresources. The paper does
// not say how many there were. Its sequential client, with one request per connection, took
// 0.45 s for a page's HTML and 2.48 s for everything (50 pages in 22.53 s and in 123.9 s),
// which suggests about five and a half requests per page.
var searchContent = []int{30_000, 30_000, 40_000, 40_000, 40_000}

// Search makes the site of Kolmogortsev, Testing the performance of the web protocol SPDY
// with an own client (undated, about 2011): count result pages of a search engine, requested at the
// same moment from one host. Each page has 70 kB of HTML; with full set it also has its own
// scripts and images, 250 kB in all. count is 1 to 200.
//
// The site is a reconstruction: only the sizes of the paper's pages are known.
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
		Source: "made by Wiretime after the sizes of Kolmogortsev (undated, about 2011)",
		bodies: map[string][]byte{},
	}
	random := rand.New(rand.NewPCG(1, 2))
	var pages []string
	for n := 1; n <= count; n++ {
		page := fmt.Sprintf("https://%s/search?q=%d", host, n)
		pages = append(pages, page)
		first := len(s.Resources)
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
		last := len(s.Resources) - 1
		document := s.Resources[last]
		s.Resources = slices.Insert(s.Resources[:last], first, document) // before its parts: Hint has them belong to the page before them
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
