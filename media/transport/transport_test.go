package transport

import (
	"testing"
)

func TestSegmentsComeWhole(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		s := b.session(t)
		for _, r := range []Request{segment(1, 0), segment(2, 3), segment(3, 7), wholeFile} {
			if _, err := b.fetch(t.Context(), s, r); err != nil {
				t.Error(err)
			}
		}
	})
}
