package studyfile

import (
	"cmp"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// kind holds what the study files of one workload do not share with those of the others. A new
// workload adds a file with its kind, and a row to kinds.
type kind struct {
	workload *study.Workload
	mark     string                             // the top-level key that makes a study one of this kind; empty for pages
	keys     []string                           // top-level keys that only this kind has
	options  func() study.Options               // the defaults
	metrics  func(Vocabulary) map[string]string // units by name
	settings func(r *reader, file mapping)      // reads those keys

	// values reads a value in the matrix, for each axis but the clock; "" after an error.
	values map[study.Axis]func(*reader, ast.Node) string
	// selected reads a value in a selection and returns it as Cell.On does, for axes on which
	// the file may write a value in several ways.
	selected map[study.Axis]func(*reader, ast.Node) (string, bool)
	check    func(r *reader, matrix ast.Node) // checks a matrix that was read without errors; nil: no check
	// given has the value of each axis that studies of this kind need not name, or may not.
	given map[study.Axis]string

	// refused has the reasons why studies of this kind lack keys that those of pages have.
	refused map[string]string
	// name is what errors call the kind, if not "studies of" the workload.
	name string
	// noOnLoad is the reason why late_limit cannot be a share of onLoad; empty if it can.
	noOnLoad string
}

// kinds lists the kinds of studies. A study without any mark is of the first kind.
var kinds = []*kind{&pages, &streams, &uploads, &crowds}

// setKind finds the study's kind and sets what follows from it. A study with the marks of two kinds is
// an error.
func (r *reader) setKind(file mapping) {
	r.kind = kinds[0]
	for _, k := range kinds {
		n, marked := file.get(k.mark)
		switch {
		case !marked:
		case r.kind.mark != "":
			r.fail(n, "%s makes this a study of %s, but %s makes it a study of %s; remove one of the two keys", k.mark, k.workload.Name, r.kind.mark, r.kind.workload.Name)
		default:
			r.kind = k
		}
	}
	if r.onLiveClock(file) {
		r.kind = &live
	}
	r.metrics = r.kind.metrics(r.words)
	r.study.Workload, r.study.Options = r.kind.workload, r.kind.options()
	r.study.Matrix = map[study.Axis][]string{study.AxisClock: {study.ClockAuto}}
}

// required returns the keys that the matrix must have.
func (k *kind) required() []string {
	var keys []string
	for _, axis := range k.workload.KeyOrder() {
		if info := k.workload.Info(axis); k.usual(info) == "" {
			keys = append(keys, info.Key)
		}
	}
	return keys
}

// usual returns the value on an axis of a study that does not name one, or "" if it must.
func (k *kind) usual(a study.AxisInfo) string { return cmp.Or(k.given[a.Axis], a.Usual) }

// title names the kind in errors.
func (k *kind) title() string { return cmp.Or(k.name, "studies of "+k.workload.Name) }

// axisKeys returns the keys of the axes in the matrix.
func (k *kind) axisKeys() []string {
	keys := k.required()
	for _, a := range k.workload.Axes {
		if a.Axis != study.AxisClock && a.Key != "" && k.usual(a) != "" {
			keys = append(keys, a.Key)
		}
	}
	return keys
}

// refuse reports keys that studies of this kind lack, each with the reason.
func (m mapping) refuse() {
	for key, why := range m.r.kind.refused {
		if n, ok := m.get(key); ok {
			m.r.fail(n, "%s does not apply to %s: %s; remove it", key, m.r.kind.title(), why)
		}
	}
}

// misplaced reports the first key of the matrix that only studies of another kind have, if the
// study has no mark. It returns whether there was one.
func (r *reader) misplaced(matrix ast.Node) bool {
	fields, ok := matrix.(ast.MapNode)
	if !ok || r.kind.mark != "" {
		return false
	}
	for each := fields.MapRange(); each.Next(); {
		key := each.Key().String()
		for _, other := range kinds {
			if slices.Contains(other.axisKeys(), key) && !slices.Contains(r.kind.axisKeys(), key) {
				r.fail(each.Key(), "%s applies only to studies of %s; write %s: {} above the matrix to make this a study of %[2]s, or remove it", key, other.workload.Name, other.mark)
				return true
			}
		}
	}
	return false
}
