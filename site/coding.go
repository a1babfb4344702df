package site

import (
	"strings"

	"wiretime/coding"
)

// These limit the decoded size of a body, and of all bodies that are decoded for a change of the
// site, in octets.
const (
	maxDecoded      = 256 << 20
	maxDecodedTotal = 4 << 30
)

// codings returns the resource's content codings in the order in which they were applied.
// ok is false if one is unknown.
func (r *Resource) codings() (names []string, ok bool) {
	for _, h := range r.Header {
		if !strings.EqualFold(h.Name, "content-encoding") {
			continue
		}
		for _, name := range coding.Names(h.Value) {
			if !coding.Known(name) {
				return nil, false
			}
			names = append(names, name)
		}
	}
	return names, true
}

// encodeLike applies content codings to text. It picks each level so that the size comes
// nearest to that of body, the encoded form of plain: what is served over http should
// compress as well as what is served over https.
func encodeLike(text, plain, body []byte, names []string) ([]byte, error) {
	for i, name := range names {
		size := len(body)
		if inner, err := coding.Decode(body, names[i+1:], maxDecoded); err == nil {
			size = len(inner)
		}
		level, err := nearestLevel(name, plain, size)
		if err != nil {
			return nil, err
		}
		if plain, err = coding.Encode(plain, name, level); err != nil {
			return nil, err
		}
		if text, err = coding.Encode(text, name, level); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// nearestLevel returns the level at which plain comes nearest to size octets. It stops at the
// first level that brings plain down to size.
func nearestLevel(name string, plain []byte, size int) (int, error) {
	fastest, hardest := coding.Levels(name)
	best, distance := fastest, -1
	for level := fastest; level <= hardest; level++ {
		b, err := coding.Encode(plain, name, level)
		if err != nil {
			return 0, err
		}
		if d := max(len(b)-size, size-len(b)); distance < 0 || d < distance {
			best, distance = level, d
		}
		if len(b) <= size {
			break
		}
	}
	return best, nil
}
