package site

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"testing"

	"golang.org/x/net/html"
)

// TestWorldFlagsSprite cuts each flag out of the sprite where the page's style says, and compares it with the
// image on the page world-flags, pixel by pixel.
func TestWorldFlagsSprite(t *testing.T) {
	separate := flagsOrSkip(t, 1)
	s, err := WorldFlagsSprite(t.Context(), packages)
	must(t, err)
	if len(s.Resources) != 2 {
		t.Fatalf("%d resources, want the page and the sprite", len(s.Resources))
	}
	again, err := WorldFlagsSprite(t.Context(), packages)
	must(t, err)
	answer := s.Respond("GET", "www.world-flags.test", "/flags.png")
	if !bytes.Equal(answer.Body, again.Respond("GET", "www.world-flags.test", "/flags.png").Body) {
		t.Error("two sprites differ")
	}
	sprite, err := png.Decode(bytes.NewReader(answer.Body))
	must(t, err)

	images, _ := readPage(t, separate.Respond("GET", "www.world-flags.test", "/").Body)
	boxes := spriteBoxes(t, s.Respond("GET", "www.world-flags.test", "/").Body)
	if len(images) != 196 || len(boxes) != 196 {
		t.Fatalf("%d images, %d parts of the sprite; want 196", len(images), len(boxes))
	}
	var taken []image.Rectangle
	for i, box := range boxes {
		if box.label != images[i]["alt"] {
			t.Errorf("part %d is %q, want %q", i, box.label, images[i]["alt"])
		}
		if !box.at.In(sprite.Bounds()) {
			t.Fatalf("%s is at %v, outside the sprite of %v", box.label, box.at, sprite.Bounds())
		}
		for _, other := range taken {
			if box.at.Overlaps(other) {
				t.Errorf("%s at %v overlaps another flag at %v", box.label, box.at, other)
			}
		}
		taken = append(taken, box.at)
		want, err := png.Decode(bytes.NewReader(separate.Respond("GET", "www.world-flags.test", images[i]["src"]).Body))
		must(t, err)
		if want.Bounds().Size() != box.at.Size() {
			t.Fatalf("%s has %v pixels, want %v", box.label, box.at.Size(), want.Bounds().Size())
		}
		for y := range box.at.Dy() {
			for x := range box.at.Dx() {
				got, wanted := sprite.At(box.at.Min.X+x, box.at.Min.Y+y), want.At(want.Bounds().Min.X+x, want.Bounds().Min.Y+y)
				if color.NRGBAModel.Convert(got) != color.NRGBAModel.Convert(wanted) {
					t.Fatalf("%s: pixel %d, %d is %v, want %v", box.label, x, y, got, wanted)
				}
			}
		}
	}
}

// spriteBox is an element of the page that shows a part of the sprite.
type spriteBox struct {
	label string
	at    image.Rectangle
}

func spriteBoxes(t *testing.T, page []byte) (boxes []spriteBox) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	must(t, err)
	for n := range doc.Descendants() {
		if n.Data != "i" {
			continue
		}
		var b spriteBox
		for _, a := range n.Attr {
			switch a.Key {
			case "aria-label":
				b.label = a.Val
			case "style":
				var height, y int
				_, err := fmt.Sscanf(a.Val, "height: %dpx; background-position-y: -%dpx", &height, &y)
				must(t, err)
				b.at = image.Rect(0, y, 100, y+height)
			}
		}
		boxes = append(boxes, b)
	}
	return boxes
}
