package site

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"image/png"
	"io"
	"path"
	"slices"
	"strings"
)

// worldFlags is the name of the built-in site.
const worldFlags = "world-flags"

// maxShards is one host per flag.
const maxShards = 196

// nations are the ISO 3166-1 codes (XK: user-assigned) of the 193 members of the United
// Nations, its two observer states (Holy See, Palestine), and Kosovo. They are 196, the
// number of flags on the page of Lulic (2013).
var nations = strings.Fields(`
	ad ae af ag al am ao ar at au az ba bb bd be bf bg bh bi bj bn bo br bs bt bw by bz ca cd cf cg
	ch ci cl cm cn co cr cu cv cy cz de dj dk dm do dz ec ee eg er es et fi fj fm fr ga gb gd ge gh
	gm gn gq gr gt gw gy hn hr ht hu id ie il in iq ir is it jm jo jp ke kg kh ki km kn kp kr kw kz
	la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mr mt mu mv mw mx my mz na ne ng
	ni nl no np nr nz om pa pe pg ph pk pl ps pt pw py qa ro rs ru rw sa sb sc sd se sg si sk sl sm
	sn so sr ss st sv sy sz td tg th tj tl tm tn to tr tt tv tz ua ug us uy uz va vc ve vn vu ws xk
	ye za zm zw`)

// WorldFlags makes the built-in site: one page with the 196 national flags as separate
// images, after Lulic (2013): many small objects on one page, where a protocol's handling
// of concurrent requests decides. The images (PNG, 100 pixels wide) and the names of the
// countries are those of the npm package svg-country-flags 1.2.10, in the public domain;
// the page itself is Wiretime's own. The npm client fetches the package once into the
// folder cache; later calls need neither npm nor a network.
//
// shards is the number of hosts the images are spread over, round robin in the
// page's order: 1 means that they are on the page's own host
// www.world-flags.test, K > 1 that they are on s1.world-flags.test to
// sK.world-flags.test. The page is the same but for the references.
func WorldFlags(ctx context.Context, cache string, shards int) (*Site, error) {
	if shards < 1 || shards > maxShards {
		return nil, fmt.Errorf("make %s: %d shards: want 1 to %d", worldFlags, shards, maxShards)
	}
	flags, err := fetchFlags(ctx, cache)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", worldFlags, err)
	}
	s, err := flagsSite(flags, shards)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", worldFlags, err)
	}
	return s, nil
}

// flag is one image of the page.
type flag struct {
	Code          string // ISO 3166-1, lower case
	Country       string
	URL           string
	Width, Height int // pixels
	image         []byte
}

// fetchFlags returns the flags of all nations, sorted by country name.
func fetchFlags(ctx context.Context, cache string) ([]flag, error) {
	pack, err := flagsPackage.fetch(ctx, cache)
	if err != nil {
		return nil, err
	}
	flags, err := readFlags(pack)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", flagsPackage, err)
	}
	return flags, nil
}

// readFlags extracts the flags of all nations from the package, sorted by country name.
func readFlags(pack []byte) ([]flag, error) {
	z, err := gzip.NewReader(bytes.NewReader(pack))
	if err != nil {
		return nil, err
	}
	images := map[string][]byte{}
	var countries map[string]string // by code in capitals
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch dir, base := path.Split(h.Name); {
		case h.Name == "package/countries.json":
			if err := json.NewDecoder(t).Decode(&countries); err != nil {
				return nil, fmt.Errorf("countries.json: %w", err)
			}
		case dir == "package/png100px/":
			if images[strings.TrimSuffix(base, ".png")], err = io.ReadAll(t); err != nil {
				return nil, err
			}
		}
	}
	flags := make([]flag, len(nations))
	for i, code := range nations {
		config, err := png.DecodeConfig(bytes.NewReader(images[code]))
		if err != nil {
			return nil, fmt.Errorf("the flag %q: %w", code, err)
		}
		country := countries[strings.ToUpper(code)]
		if country == "" {
			return nil, fmt.Errorf("countries.json does not name %q", code)
		}
		flags[i] = flag{Code: code, Country: country, Width: config.Width, Height: config.Height, image: images[code]}
	}
	slices.SortFunc(flags, func(a, b flag) int { return strings.Compare(a.Country, b.Country) })
	return flags, nil
}

func flagsSite(flags []flag, shards int) (*Site, error) {
	const host = "www." + worldFlags + ".test"
	s := &Site{
		Name:   worldFlags,
		Title:  "Flags of the world",
		Source: flagsPackage.String() + " (public domain), after Lulic (2013)",
		Page:   "https://" + host + "/",
		bodies: map[string][]byte{},
	}
	for i := range flags {
		if shards > 1 {
			// URLs have no scheme, so the page also works over http.
			flags[i].URL = fmt.Sprintf("//s%d.%s.test", i%shards+1, worldFlags)
		}
		flags[i].URL += "/flags/" + flags[i].Code + ".png"
	}
	var page bytes.Buffer
	if err := flagsPage.Execute(&page, flags); err != nil {
		return nil, err
	}
	s.addMadePage(s.Page, page.Bytes())
	for i := range flags {
		u := "https://" + host + flags[i].URL
		if shards > 1 {
			u = "https:" + flags[i].URL
		}
		// Browsers report paint and resource timings of images on other hosts in full only to
		// pages that those hosts allow. The field is always sent, so that sharding does not
		// change the size of a response.
		s.addResource(u, []Header{{"content-type", contentTypes[".png"]}, unchanging, {"timing-allow-origin", "*"}}, flags[i].image)
	}
	return s, s.build()
}

// flagsPage gives every image its size, so that the layout is final before the first image
// arrives, and has an empty icon, so that browsers do not request a favicon.
var flagsPage = template.Must(template.New(worldFlags).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Flags of the world</title>
<link rel="icon" href="data:,">
<style>
body { margin: 2rem; font: 1rem/1.4 sans-serif; color: #222 }
ul { display: grid; grid-template-columns: repeat(auto-fill, 8rem); gap: 1.5rem; padding: 0; list-style: none }
li { font-size: .8rem }
img { display: block; margin-bottom: .3rem; border: 1px solid #ccc }
</style>
</head>
<body>
<h1>Flags of the world</h1>
<p>{{len .}} national flags, each an image of its own.</p>
<ul>
{{range .}}<li><img src="{{.URL}}" alt="Flag: {{.Country}}" width="{{.Width}}" height="{{.Height}}">{{.Country}}</li>
{{end}}</ul>
</body>
</html>
`))
