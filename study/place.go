package study

import (
	"fmt"
	"slices"
	"strings"
)

// PlaceAny is the value on AxisAt of loads that may be made wherever the study runs.
const PlaceAny = "any"

// longestPlace is how many octets the name of a place may have.
const longestPlace = 40

// CheckPlace says what is wrong with the name of a place.
func CheckPlace(name string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-"
	switch {
	case name == "" || len(name) > longestPlace || strings.Trim(name, allowed) != "":
		return fmt.Errorf("invalid place %.80q: must be 1 to %d of the characters a-z, 0-9 and -", name, longestPlace)
	case name == PlaceAny:
		return fmt.Errorf("invalid place %q: this word stands for wherever the study runs; name a place, or remove it", name)
	}
	return nil
}

// Places returns the places that the study names; nil if its loads may be made wherever it runs.
func (s *Study) Places() []string {
	places := s.Matrix[AxisAt]
	if slices.Equal(places, []string{PlaceAny}) {
		return nil
	}
	return places
}
