package upload

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxOctets is the largest upload in octets.
const MaxOctets = 40_000_000

// referencePrefix is the start of each reference.
const referencePrefix = "post@"

// ParseReference returns the size in octets of the upload with the given reference in a study: "post@" and a whole
// number with its unit (B, kB or MB; k is 1000), from 1 B to MaxOctets. It returns an error for anything else.
func ParseReference(reference string) (octets int64, err error) {
	const want = "want post@SIZE with 1 B to 40 MB, as in post@10MB"
	size, ok := strings.CutPrefix(reference, referencePrefix)
	if !ok {
		return 0, fmt.Errorf("unknown upload %q: %s", reference, want)
	}
	digits := len(size) - len(strings.TrimLeft(size, "0123456789"))
	n, err := strconv.ParseInt(size[:digits], 10, 64)
	unit, known := map[string]int64{"B": 1, "kB": 1e3, "MB": 1e6}[size[digits:]]
	switch {
	case err != nil:
		return 0, fmt.Errorf("upload %q: %.20q is not a size: %s", reference, size, want)
	case !known:
		return 0, fmt.Errorf("upload %q: unknown unit %.20q: write B, kB or MB", reference, size[digits:])
	case n < 1 || n > MaxOctets/unit:
		return 0, fmt.Errorf("upload %q is out of range: %s", reference, want)
	}
	return n * unit, nil
}
