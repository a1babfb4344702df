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

const filePrefix = "file@"

// ParseMedia parses the name of generated media in studies and requests: "clip", a Video of
// ClipSegments segments, or a File such as "file@1GB", "file@100MB", "file@512kB" or
// "file@1500B", of 1 to MaxFileSize octets. k is 1000. The item has the same name. Errors
// give the column within the reference, from 1.
func ParseMedia(reference string) (Item, error) {
	if reference == ClipName {
		return Video(ClipName, ClipSegments), nil
	}
	size, isFile := strings.CutPrefix(reference, filePrefix)
	if !isFile {
		return Item{}, fmt.Errorf("unknown media %q: there are %q and files such as %q", reference, ClipName, filePrefix+"1GB")
	}
	digits := len(size) - len(strings.TrimLeft(size, "0123456789"))
	n, err := strconv.ParseInt(size[:digits], 10, 64)
	if err != nil || n < 1 || n > MaxFileSize { // larger values would overflow the multiplication below
		return Item{}, fmt.Errorf("media %q, column %d: want a whole number, 1 B to %d GB: write it as in %s", reference, len(filePrefix)+1, MaxFileSize/1_000_000_000, filePrefix+"1GB")
	}
	unit, known := map[string]int64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[size[digits:]]
	if !known {
		return Item{}, fmt.Errorf("media %q, column %d: want B, kB, MB or GB after the size: write it as in %s", reference, len(filePrefix)+digits+1, filePrefix+"1GB")
	}
	if n > MaxFileSize/unit {
		return Item{}, fmt.Errorf("media %q, column %d: want 1 B to %d GB", reference, len(filePrefix)+1, MaxFileSize/1_000_000_000)
	}
	return File(reference, n*unit), nil
}
