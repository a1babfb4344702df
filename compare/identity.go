package compare

import (
	"maps"
	"slices"

	"wiretime/store"
)

// Identity says how far loads on the virtual clock came out the same.
type Identity struct {
	Cells int `json:"cells"` // pairs of cells on the virtual clock
	Same  int `json:"same"`  // of these, those whose loads have equal values of all metrics, to the last bit
	// Loads and Files count, of the latter, the pairs of loads and of files whose checksums were compared; Differing has the names
	// of files that are not equal byte for byte.
	Loads     int      `json:"loads"`
	Files     int      `json:"files"`
	Differing []string `json:"differing,omitempty"`
}

func (i *Identity) add(o Identity) {
	i.Cells, i.Same, i.Loads, i.Files = i.Cells+o.Cells, i.Same+o.Same, i.Loads+o.Loads, i.Files+o.Files
	for _, name := range o.Differing {
		if !slices.Contains(i.Differing, name) {
			i.Differing = append(i.Differing, name)
		}
	}
}

// repeats calls f with the loads of the same repeats. It returns false without calling f if the sides have other repeats.
func repeats(a, b []store.Load, f func(a, b store.Load) bool) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	byRepeat := map[int]store.Load{}
	for _, l := range b {
		byRepeat[l.Repeat] = l
	}
	for _, l := range a {
		other, ok := byRepeat[l.Repeat]
		if !ok || !f(l, other) {
			return false
		}
	}
	return true
}

// equalLoads reports whether a metric has the same values in the loads of the same repeats.
func equalLoads(a, b []store.Load, metric string) bool {
	return repeats(a, b, func(a, b store.Load) bool {
		x, inA := a.Values[metric]
		y, inB := b.Values[metric]
		return inA && inB && x == y
	})
}

// identityOf compares all figures of the loads of two cells on the virtual clock and, if they are equal, their files.
func identityOf(stA, stB *store.Store, a, b []store.Load) (i Identity, err error) {
	i.Cells = 1
	if !repeats(a, b, func(a, b store.Load) bool { return maps.Equal(a.Values, b.Values) }) {
		return i, nil
	}
	i.Same, i.Loads = 1, len(a)
	repeats(a, b, func(a, b store.Load) bool {
		var first, second []store.File
		if first, err = stA.Files(a); err == nil {
			second, err = stB.Files(b)
		}
		i.compareFiles(first, second)
		return err == nil
	})
	return i, err
}

func (i *Identity) compareFiles(a, b []store.File) {
	sums := map[string]store.File{}
	for _, f := range b {
		sums[f.Name] = f
	}
	for _, f := range a {
		other, ok := sums[f.Name]
		if !ok {
			continue
		}
		i.Files++
		if f != other && !slices.Contains(i.Differing, f.Name) {
			i.Differing = append(i.Differing, f.Name)
		}
	}
}
