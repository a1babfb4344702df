package storage

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// ClipName is the name of the video that viewers request by default.
	ClipName = "clip"
	// ClipSegments is the number of segments of the generated video: ten minutes.
	ClipSegments = 600
	// MaxFileSize is the size in octets of the largest file that can be requested.
	MaxFileSize = 1_000_000_000_000
)

const (
	filePrefix = "file@"
	clipPrefix = ClipName + "@"
)

// ParseMedia parses the name of generated media in studies and requests: "clip", a Video of
// ClipSegments segments; the same with other sizes of its segments in HD, FHD and QHD, such as
// "clip@4MBx4500kBx5MB"; or a File such as "file@1GB", "file@100MB", "file@512kB" or
// "file@1500B". Sizes are 1 to MaxFileSize octets; k is 1000. The item has the same name.
// Errors give the column within the reference, from 1.
func ParseMedia(reference string) (Item, error) {
	if reference == ClipName {
		return Video(ClipName, ClipSegments), nil
	}
	if sizes, isClip := strings.CutPrefix(reference, clipPrefix); isClip {
		return parseClip(reference, sizes)
	}
	size, isFile := strings.CutPrefix(reference, filePrefix)
	if !isFile {
		return Item{}, fmt.Errorf("unknown media %q: there are %q and files such as %q", reference, ClipName, filePrefix+"1GB")
	}
	octets, err := parseSize(reference, len(filePrefix)+1, size, filePrefix+"1GB")
	if err != nil {
		return Item{}, err
	}
	return File(reference, octets), nil
}

// parseClip parses the sizes of a video's segments.
func parseClip(reference, sizes string) (Item, error) {
	const example = clipPrefix + "4MBx4500kBx5MB"
	words := strings.Split(sizes, "x")
	if len(words) != len(Resolutions()) {
		return Item{}, fmt.Errorf("media %q, column %d: want three sizes, of a segment in HD, FHD and QHD: write them as in %s", reference, len(clipPrefix)+1, example)
	}
	item := Item{Name: reference, Segments: ClipSegments, Sizes: map[Resolution]int64{}}
	column := len(clipPrefix) + 1
	for i, r := range Resolutions() {
		octets, err := parseSize(reference, column, words[i], example)
		if err != nil {
			return Item{}, err
		}
		item.Sizes[r] = octets
		column += len(words[i]) + len("x")
	}
	return item, nil
}

// parseSize parses a size that stands in a column of a reference. The example shows how to write one.
func parseSize(reference string, column int, size, example string) (int64, error) {
	digits := len(size) - len(strings.TrimLeft(size, "0123456789"))
	n, err := strconv.ParseInt(size[:digits], 10, 64)
	if err != nil || n < 1 || n > MaxFileSize { // larger values would overflow the multiplication below
		return 0, fmt.Errorf("media %q, column %d: want a whole number, 1 B to %d GB: write it as in %s", reference, column, MaxFileSize/1_000_000_000, example)
	}
	unit, known := map[string]int64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[size[digits:]]
	if !known {
		return 0, fmt.Errorf("media %q, column %d: want B, kB, MB or GB after the size: write it as in %s", reference, column+digits, example)
	}
	if n > MaxFileSize/unit {
		return 0, fmt.Errorf("media %q, column %d: want 1 B to %d GB", reference, column, MaxFileSize/1_000_000_000)
	}
	return n * unit, nil
}
