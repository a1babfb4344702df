package site

import (
	"strings"

	"wiretime/coding"
)

// maxDecoded is how long a body may be without its content coding, in octets.
const maxDecoded = 256 << 20

// codings are the resource's content codings in the order in which they were applied; not ok
// if one is not known.
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

// encodeLike applies content codings to text, each at the level that comes nearest to the
// size that body has, of which plain was decoded: what is served in the clear should not
// differ from what is not by how hard it was compressed.
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

// nearestLevel finds the level at which plain comes nearest to size octets, of those up to the
// first that makes no more of it.
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
