package page

import (
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/tdewolff/parse/v2/css"
)

// winner is a declaration with the reasons why it wins (CSS Cascade 5, section
// 6).
type winner struct {
	declaration *declaration
	sheet       *sheet // nil: a style attribute
	base        string // of a style attribute
	layer       int
	specificity cascadia.Specificity
	order       int
}

func (w *winner) beats(other *winner) bool {
	switch {
	case other.declaration == nil:
		return true
	case w.declaration.important != other.declaration.important:
		return w.declaration.important
	case (w.sheet == nil) != (other.sheet == nil):
		return w.sheet == nil
	case w.layer != other.layer:
		return w.layer > other.layer != w.declaration.important
	case w.specificity != other.specificity:
		return other.specificity.Less(w.specificity)
	}
	return w.order >= other.order
}

// cascade holds the winning declaration of each property.
type cascade struct {
	winners [properties]winner
	custom  []winner
	any     bool
}

func (c *cascade) empty() bool { return !c.any }

// add adds the declarations of a matching rule.
func (c *cascade) add(e *entry) {
	c.take(e.rule.declarations, winner{sheet: e.sheet, layer: e.layer, specificity: e.selector.specificity, order: e.order})
}

// inline adds the declarations of a style attribute.
func (c *cascade) inline(r rules, base string) {
	for i := range r.styles {
		c.take(r.styles[i].declarations, winner{base: base})
	}
}

func (c *cascade) take(declarations []declaration, w winner) {
	c.any = true
	for i := range declarations {
		w.declaration = &declarations[i]
		if w.declaration.property == custom {
			c.custom = append(c.custom, w)
		} else if w.beats(&c.winners[w.declaration.property]) {
			c.winners[w.declaration.property] = w
		}
	}
}

// customs holds an element's custom properties, and those it inherits.
type customs struct {
	own    map[string]winner
	around *customs
}

// newCustoms returns the custom properties that win among declarations.
func newCustoms(declared []winner, around *customs) *customs {
	own := make(map[string]winner, len(declared))
	for i := range declared {
		name := declared[i].declaration.custom
		if best := own[name]; declared[i].beats(&best) {
			own[name] = declared[i]
		}
	}
	return &customs{own, around}
}

// find returns the value of a custom property, or nil.
func (c *customs) find(name string) []cssToken {
	for ; c != nil; c = c.around {
		if best, ok := c.own[name]; ok {
			return best.declaration.value
		}
	}
	return nil
}

// apply computes a style from the declarations.
func (st *style) apply(c *cascade) {
	if len(c.custom) > 0 {
		st.custom = newCustoms(c.custom, st.custom)
	}
	if value := st.value(c, display); len(value) == 1 {
		st.hidden = value[0].is(css.IdentToken, "none")
	}
	st.box.apply(st, c)
	if f, ff := &c.winners[font], &c.winners[fontFamily]; f.declaration != nil && !(ff.declaration != nil && ff.beats(f)) {
		st.applyFont(st.value(c, font))
	} else if value := st.value(c, fontFamily); len(value) > 0 && !inherits(value) {
		st.families = readFamilies(value)
	}
	if value := st.value(c, fontWeight); len(value) == 1 {
		if w, ok := weight(value[0]); ok {
			st.weight = w
		}
	}
	if value := st.value(c, fontStyle); len(value) > 0 && !inherits(value) {
		st.italic = !value[0].is(css.IdentToken, "normal")
	}
}

func inherits(value []cssToken) bool {
	return len(value) == 1 && (value[0].is(css.IdentToken, "inherit") || value[0].is(css.IdentToken, "unset"))
}

// applyFont reads the shorthand "style weight size/line-height families".
func (st *style) applyFont(value []cssToken) {
	if len(value) == 0 || inherits(value) {
		return
	}
	st.weight, st.italic = 400, false
	sized := false
	for i, t := range value {
		w, isWeight := weight(t)
		switch {
		case sized && (t.kind == css.IdentToken || t.kind == css.StringToken):
			st.families = readFamilies(value[i:])
			return
		case sized:
		case t.kind == css.DimensionToken || t.kind == css.PercentageToken || t.kind == css.FunctionToken || fontSizes[strings.ToLower(t.text)]:
			sized = true
		case isWeight && !t.is(css.IdentToken, "normal"):
			st.weight = w
		case t.is(css.IdentToken, "italic") || t.is(css.IdentToken, "oblique"):
			st.italic = true
		}
	}
}

var fontSizes = set("xx-small x-small small medium large x-large xx-large xxx-large smaller larger")

// families is a list of font families.
type families struct {
	names []string
	key   string // identifies the list
}

func newFamilies(names ...string) *families { return &families{names, strings.Join(names, "\x00")} }

// maxFamilies limits how many families of a list are kept: every element inherits the list.
const maxFamilies = 64

// readFamilies reads a list of font families.
func readFamilies(value []cssToken) *families {
	var names []string
	for _, part := range splitTokens(value, css.CommaToken) {
		if name := familyName(part); name != "" && len(names) < maxFamilies {
			names = append(names, name)
		}
	}
	return newFamilies(names...)
}

// value returns a property's value with its variables replaced.
func (st *style) value(c *cascade, p property) []cssToken {
	d := c.winners[p].declaration
	if d == nil {
		return nil
	}
	return st.custom.replace(d.value)
}

// maxValue is the length limit of a value with its variables replaced, in
// tokens, and the limit on the variables that are replaced for it.
const maxValue = 1 << 12

// replace replaces var() (CSS Variables 1, section 3).
func (c *customs) replace(value []cssToken) []cssToken {
	if !hasVariable(value) {
		return value
	}
	r := replacing{customs: c}
	if !r.append(value, 0) {
		return nil
	}
	return trimSpace(r.out)
}

func hasVariable(value []cssToken) bool {
	for _, t := range value {
		if t.kind == css.FunctionToken && len(t.text) == 4 && strings.EqualFold(t.text, "var(") {
			return true
		}
	}
	return false
}

// replacing is a value whose variables are being replaced.
type replacing struct {
	customs  *customs
	out      []cssToken
	replaced int // variables
}

// append appends a value. It returns false if the result is invalid or too long.
func (r *replacing) append(value []cssToken, depth int) bool {
	if depth > maxNesting || len(r.out)+len(value) > maxValue {
		return false
	}
	for len(value) > 0 {
		t := value[0]
		if t.function() != "var" {
			r.out, value = append(r.out, t), value[1:]
			continue
		}
		var inside []cssToken
		inside, value = inner(value)
		if r.replaced++; len(inside) == 0 || r.replaced > maxValue {
			return false
		}
		found := r.customs.find(inside[0].text)
		if found == nil {
			fallback := trimSpace(inside[1:])
			if len(fallback) == 0 || fallback[0].kind != css.CommaToken {
				return false
			}
			found = fallback[1:]
		}
		if !r.append(found, depth+1) {
			return false
		}
	}
	return true
}
