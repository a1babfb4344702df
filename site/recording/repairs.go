package recording

import (
	"fmt"
	"strings"

	"wiretime/english"
)

// repairs groups repairs by kind.
type repairs struct {
	kinds []*repairKind // in the order in which they were met
	index map[[2]string]*repairKind
}

type repairKind struct {
	what    string // with a %s for the number and the things
	thing   string // the counted thing, in the singular
	where   []string
	names   []string // examples of it
	named   map[string]bool
	leftOut int
}

// maxNamed limits the records that a repair names.
const maxNamed = 5

// note counts a record that was repaired. what is a sentence with a %s for the number and
// the things.
func (r *repairs) note(where, thing, what string) { r.kind(thing, what).add(where) }

// leave counts a record that is left out.
func (r *repairs) leave(where, thing, what string) {
	k := r.kind(thing, what)
	k.add(where)
	k.leftOut++
}

func (r *repairs) kind(thing, what string) *repairKind {
	id := [2]string{thing, what}
	if r.index == nil {
		r.index = map[[2]string]*repairKind{}
	}
	k := r.index[id]
	if k == nil {
		k = &repairKind{what: what, thing: thing, named: map[string]bool{}}
		r.index[id] = k
		r.kinds = append(r.kinds, k)
	}
	return k
}

func (k *repairKind) add(where string) { k.where = append(k.where, where) }

// mention adds an example, such as a host, field or parameter, to a kind of repair.
func (k *repairKind) mention(name string) {
	if !k.named[name] {
		k.named[name] = true
		k.names = append(k.names, name)
	}
}

// list returns the repairs in the order in which their kinds first occurred.
func (r *repairs) list() []Repair {
	var out []Repair
	for _, k := range r.kinds {
		what := fmt.Sprintf(k.what, english.Count(len(k.where), k.thing))
		if len(k.names) > 0 {
			what += ": " + some(k.names)
		}
		out = append(out, Repair{Where: some(k.where), What: what, LeftOut: k.leftOut})
	}
	return out
}

// some joins the first few names.
func some(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
