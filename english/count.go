// Package english words what the program tells people.
package english

import (
	"strconv"
	"strings"
)

// Count writes a number with its noun, which is given in the singular: "1 load", "2 loads",
// "0 bodies".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		noun = stem + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
