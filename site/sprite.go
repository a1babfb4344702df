package site

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"image"
	"image/draw"
	"image/png"
)

// worldFlagsSprite is the name of the built-in site.
const worldFlagsSprite = worldFlags + "-sprite"

// spriteColumns is how many flags the sprite has side by side: as many as below one another.
const spriteColumns = 4

// WorldFlagsSprite makes the built-in site with the flags of [WorldFlags], from the same package, as one
// image (a CSS sprite), of which the page's style sheet shows each flag's part in the flag's place. That is
// what authors did so that HTTP/1.1 need not ask for each of many small images; Lulic (2013), section 6, says
// that SPDY does without it. The sprite is losslessly made of the 196 images. The page and the sprite
// are on the host www.world-flags.test.
func WorldFlagsSprite(ctx context.Context, cache string) (*Site, error) {
	flags, err := fetchFlags(ctx, cache)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", worldFlagsSprite, err)
	}
	s, err := spriteSite(flags)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", worldFlagsSprite, err)
	}
	return s, nil
}

// spriteFlag is a flag and how far below the sprite's top it begins, in pixels.
type spriteFlag struct {
	flag
	Y int
}

func spriteSite(flags []flag) (*Site, error) {
	const host = "www." + worldFlags + ".test"
	var placed []spriteFlag
	var size image.Point
	for _, f := range flags {
		placed = append(placed, spriteFlag{f, size.Y})
		size = image.Pt(max(size.X, f.Width), size.Y+f.Height)
	}
	sprite := image.NewNRGBA(image.Rectangle{Max: size})
	for _, f := range placed {
		part, err := png.Decode(bytes.NewReader(f.image))
		if err != nil {
			return nil, fmt.Errorf("the flag %q: %w", f.Code, err)
		}
		draw.Draw(sprite, image.Rect(0, f.Y, f.Width, f.Y+f.Height), part, part.Bounds().Min, draw.Src)
	}
	var body, page bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&body, sprite); err != nil {
		return nil, err
	}
	if err := spritePage.Execute(&page, placed); err != nil {
		return nil, err
	}
	s := &Site{
		Name:   worldFlagsSprite,
		Title:  "Flags of the world as one image",
		Source: flagsPackage.String() + " (public domain), the images of " + worldFlags + " put together",
		Page:   "https://" + host + "/",
		bodies: map[string][]byte{},
	}
	s.addMadePage(s.Page, page.Bytes())
	s.addResource("https://"+host+"/flags.png", []Header{{"content-type", contentTypes[".png"]}, unchanging, {"timing-allow-origin", "*"}}, body.Bytes())
	return s, s.build()
}

// spritePage looks like flagsPage.
var spritePage = template.Must(template.New(worldFlagsSprite).Parse(`<!DOCTYPE html>
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
i { display: block; width: 100px; margin-bottom: .3rem; border: 1px solid #ccc; background: url(/flags.png) no-repeat; background-origin: content-box }
</style>
</head>
<body>
<h1>Flags of the world</h1>
<p>{{len .}} national flags, all in one image.</p>
<ul>
{{range .}}<li><i role="img" aria-label="Flag: {{.Country}}" style="height: {{.Height}}px; background-position-y: -{{.Y}}px"></i>{{.Country}}</li>
{{end}}</ul>
</body>
</html>
`))
