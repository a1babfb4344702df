package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"wiretime/atomicfile"
	"wiretime/loader/chromium"
	"wiretime/scratch"
)

// tall is the height of the window in which reports are shown, in pixels: the elements that are wanted are
// moved to its top, and all of them have to be in the window.
const tall = 4000

// overhang is how far letters of a chart's last line hang below the chart, in pixels.
const overhang = 4

// alone is added to a report: it chooses a cell for the charts that show one, hides all but the wanted elements and what they
// stand in, and notes the box around them.
const alone = `
<script type="module">
dispatchEvent(new Event("beforeprint"));
for (const choice of document.querySelectorAll(".flows select")) {
  choice.selectedIndex = %d;
  if (choice.selectedIndex < 0) throw new Error("no such cell");
  choice.dispatchEvent(new Event("change"));
}
const wanted = [...document.querySelectorAll(%q)];
for (const w of wanted) {
  w.closest("details")?.setAttribute("open", "");
  if (w.matches(".sequence")) { // it scrolls in a box narrower than itself
    Object.assign(w.parentElement.style, { overflow: "visible", maxHeight: "none", border: "none" });
    document.querySelector("main").style.maxWidth = "none";
  }
}
const holds = (e) => wanted.some((w) => e.contains(w));
const hide = (e) => {
  for (const child of e.children) {
    if (wanted.includes(child)) continue;
    if (holds(child)) hide(child);
    else child.style.display = "none";
  }
};
hide(document.body);
const boxes = wanted.map((w) => w.getBoundingClientRect());
if (boxes.length > 0) document.documentElement.dataset.box = [
  Math.floor(Math.min(...boxes.map((b) => b.left))), Math.floor(Math.min(...boxes.map((b) => b.top))),
  Math.ceil(Math.max(...boxes.map((b) => b.right))), Math.ceil(Math.max(...boxes.map((b) => b.bottom)))].join(" ");
</script>
`

// draw writes a picture of the block's figure, or of its elements in the report, of each study. Pictures of several studies stand in two
// columns.
func (b *block) draw(ctx context.Context, runs []*measuredRun, path string) error {
	browser, err := chromium.Find("")
	if err != nil {
		return err
	}
	temporary, err := scratch.Make("", "wiretime-picture-")
	if err != nil {
		return err
	}
	defer temporary.Remove()
	folder := temporary.Path
	var parts []image.Image
	for _, r := range runs {
		part, err := b.part(ctx, browser, folder, r)
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, arranged(parts)); err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, picture.Bytes())
}

// part returns what a picture shows of one run.
func (b *block) part(ctx context.Context, browser, folder string, r *measuredRun) (image.Image, error) {
	page, elements, width := filepath.Join(folder, r.name+".html"), b.Elements, b.Width
	if b.kind == "figure" {
		panels, err := b.figure(r, page)
		if err != nil {
			return nil, fmt.Errorf("draw a figure of %s: %w", r.name, err)
		}
		elements = "#figure"
		if width == 0 {
			width = windowFor(panels)
		}
	} else if _, err := output(ctx, wiretime, "report", "--store", r.store, "-o", page); err != nil {
		return nil, err
	}
	return b.shoot(ctx, browser, page, elements, width)
}

// shoot returns a picture of the elements of a page that report wrote, in a window of that width.
func (b *block) shoot(ctx context.Context, browser, report, elements string, width int) (image.Image, error) {
	shot := report + ".png"
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(report, append(text, fmt.Sprintf(alone, max(b.Cell-1, 0), elements)...), 0o600); err != nil {
		return nil, err
	}
	flags := []string{"--no-sandbox", "--hide-scrollbars", fmt.Sprintf("--window-size=%d,%d", width, tall), "file://" + report}
	dom, err := output(ctx, browser, append([]string{"--dump-dom"}, flags...)...)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(dom), ` data-box="`)
	where, _, _ := strings.Cut(rest, `"`)
	var box image.Rectangle
	if _, err := fmt.Sscan(where, &box.Min.X, &box.Min.Y, &box.Max.X, &box.Max.Y); err != nil {
		return nil, fmt.Errorf("draw %s of %s: it has no such elements, or no cell %d", elements, filepath.Base(report), max(b.Cell, 1))
	}
	if box.Max.X > width {
		return nil, fmt.Errorf("draw %s of %s: its right edge is at %d pixels, and the window is %d wide: enlarge the block's width", elements, filepath.Base(report), box.Max.X, width)
	}
	if _, err := output(ctx, browser, append([]string{"--screenshot=" + shot}, flags...)...); err != nil {
		return nil, err
	}
	f, err := os.Open(shot)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	whole, err := png.Decode(f)
	if err != nil {
		return nil, err
	}
	box.Max.Y += overhang
	if b.Height > 0 {
		box.Max.Y = min(box.Max.Y, box.Min.Y+b.Height)
	}
	part := image.NewRGBA(image.Rect(0, 0, box.Dx(), min(box.Dy(), tall-box.Min.Y)))
	draw.Draw(part, part.Bounds(), whole, box.Min, draw.Src)
	return part, nil
}

// margin is the white around and between pictures, in pixels.
const margin = 16

// arranged puts pictures on white, several of them in two columns.
func arranged(parts []image.Image) image.Image {
	columns := min(len(parts), 2)
	places := make([]image.Point, len(parts))
	size := image.Pt(margin, margin)
	for i, p := range parts {
		if i%columns == 0 { // a row begins
			places[i] = image.Pt(margin, size.Y)
		} else {
			places[i] = image.Pt(places[i-1].X+parts[i-1].Bounds().Dx()+margin, places[i-1].Y)
		}
		end := places[i].Add(p.Bounds().Size())
		size = image.Pt(max(size.X, end.X+margin), max(size.Y, end.Y+margin))
	}
	all := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(all, all.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	for i, p := range parts {
		draw.Draw(all, p.Bounds().Add(places[i]), p, image.Point{}, draw.Src)
	}
	return all
}
