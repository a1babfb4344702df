package site

import (
	"bytes"
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// objectsName is the name of the made site of equal objects.
const objectsName = "objects"

// These are the limits of Objects. Sizes are octets.
const (
	maxObjects     = 1000
	maxObjectSize  = 100_000_000
	maxObjectTotal = 1_000_000_000
)

// These are the defaults of the reference "objects".
const (
	defaultObjects    = 40
	defaultObjectSize = 20_000
)

// Objects makes a site with count equal images of size octets each and a page that shows
// them, all on www.objects.test. It is the simplest page for comparing protocols and
// clocks. count is 1 to 1000, size 1 to 100,000,000, and the total at most 1,000,000,000
// octets.
//
// The images are SVG, padded with a comment. An image smaller than its drawing is only
// padding: a browser fetches it but cannot show it. The same count and size always give the
// same octets.
func Objects(count int, size int64) (*Site, error) {
	if err := checkObjects(count, size); err != nil {
		return nil, fmt.Errorf("make %s: %w", objectsName, err)
	}
	const host = "www." + objectsName + ".test"
	s := &Site{
		Name:   objectsName,
		Title:  describeObjects(count, size),
		Source: "made by Wiretime",
		Page:   "https://" + host + "/",
		bodies: map[string][]byte{},
	}
	paths := make([]string, count)
	for i := range paths {
		paths[i] = fmt.Sprintf("/objects/%d.svg", i+1)
	}
	var page bytes.Buffer
	if err := objectsPage.Execute(&page, paths); err != nil {
		return nil, fmt.Errorf("make %s: %w", objectsName, err)
	}
	s.addMadePage(s.Page, page.Bytes())
	s.addResource("https://"+host+paths[0], []Header{{"content-type", contentTypes[".svg"]}, unchanging}, object(size))
	for _, path := range paths[1:] {
		r := s.Resources[1]
		r.URL = "https://" + host + path
		s.Resources = append(s.Resources, r)
	}
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("make %s: %w", objectsName, err)
	}
	return s, nil
}

func describeObjects(count int, size int64) string {
	noun := "objects"
	if count == 1 {
		noun = "object"
	}
	return fmt.Sprintf("%d %s of %s", count, noun, formatSize(size))
}

func checkObjects(count int, size int64) error {
	if count < 1 || count > maxObjects {
		return fmt.Errorf("%d objects: want 1 to %d", count, maxObjects)
	}
	if size < 1 || size > maxObjectSize {
		return fmt.Errorf("objects of %d octets: want 1 B to %s", size, formatSize(maxObjectSize))
	}
	if total := int64(count) * size; total > maxObjectTotal {
		return fmt.Errorf("%s are %s: want no more than %s in all", describeObjects(count, size), formatSize(total), formatSize(maxObjectTotal))
	}
	return nil
}

// object is an image of the given size.
func object(size int64) []byte {
	const head = `<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><rect width="32" height="32" fill="#47a"/><!--`
	const tail = `--></svg>`
	filling := size - int64(len(head)+len(tail))
	if filling < 0 {
		return bytes.Repeat([]byte{' '}, int(size))
	}
	return []byte(head + strings.Repeat(" ", int(filling)) + tail)
}

// parseObjects reads the text after "objects@" in a reference: a number, an x and a size,
// as in 40x20kB. k is 1000. Errors give the column within ref, from 1.
func parseObjects(ref string) (count int, size int64, err error) {
	const form = "write it as in objects@40x20kB"
	_, text, _ := strings.Cut(ref, "@")
	start := len(ref) - len(text) + 1
	wrong := func(offset int, want string) error {
		return fmt.Errorf("site %q, column %d: want %s: %s", ref, start+offset, want, form)
	}
	digits := leadingDigits(text)
	if count, err = strconv.Atoi(text[:digits]); err != nil {
		return 0, 0, wrong(0, fmt.Sprintf("a number of objects, 1 to %d", maxObjects))
	}
	if digits == len(text) || text[digits] != 'x' {
		return 0, 0, wrong(digits, "an x after the number of objects")
	}
	at := digits + 1
	digits = leadingDigits(text[at:])
	if size, err = strconv.ParseInt(text[at:at+digits], 10, 64); err != nil {
		return 0, 0, wrong(at, fmt.Sprintf("a size, 1 B to %s", formatSize(maxObjectSize)))
	}
	unit := int64(0)
	switch text[at+digits:] {
	case "B":
		unit = 1
	case "kB":
		unit = 1e3
	case "MB":
		unit = 1e6
	default:
		return 0, 0, wrong(at+digits, "B, kB or MB after the size")
	}
	if size > maxObjectSize { // larger values would overflow the multiplication below
		return 0, 0, wrong(at, fmt.Sprintf("a size, 1 B to %s", formatSize(maxObjectSize)))
	}
	if err := checkObjects(count, size*unit); err != nil {
		return 0, 0, fmt.Errorf("site %q: %w", ref, err)
	}
	return count, size * unit, nil
}

func leadingDigits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// formatSize writes a size in the largest unit that leaves it whole.
func formatSize(size int64) string {
	switch {
	case size%1_000_000_000 == 0 && size > 0:
		return fmt.Sprintf("%d GB", size/1_000_000_000)
	case size%1_000_000 == 0 && size > 0:
		return fmt.Sprintf("%d MB", size/1_000_000)
	case size%1000 == 0 && size > 0:
		return fmt.Sprintf("%d kB", size/1000)
	}
	return fmt.Sprintf("%d B", size)
}

// objectsPage gives every image its size and has an empty icon, as flagsPage does.
var objectsPage = template.Must(template.New(objectsName).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Objects</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Objects</h1>
<p>
{{range .}}<img src="{{.}}" alt="" width="32" height="32">
{{end}}</p>
</body>
</html>
`))
