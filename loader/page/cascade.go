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
	c.take(e.rule.declarations, winner{sheet: e.sheet, layer: e.layer, specificity: e.selector.match.Specificity(), order: e.order})
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
	own    []winner
	around *customs
}

// find returns the value of a custom property, or nil.
func (c *customs) find(name string) []cssToken {
	for ; c != nil; c = c.around {
		var best winner
		for i := range c.own {
			if c.own[i].declaration.custom == name && c.own[i].beats(&best) {
				best = c.own[i]
			}
		}
		if best.declaration != nil {
			return best.declaration.value
		}
	}
	return nil
}

// apply computes a style from the declarations.
func (st *style) apply(c *cascade) {
	if len(c.custom) > 0 {
		st.custom = &customs{c.custom, st.custom}
	}
	if value := st.value(c, display); len(value) == 1 {
		st.hidden = value[0].is(css.IdentToken, "none")
	}
	st.box.apply(st, c)
	if f, ff := &c.winners[font], &c.winners[fontFamily]; f.declaration != nil && !(ff.declaration != nil && ff.beats(f)) {
		st.applyFont(st.value(c, font))
	} else if value := st.value(c, fontFamily); len(value) > 0 && !inherits(value) {
		st.families = families(value)
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
			st.families = families(value[i:])
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

// families reads a list of font families.
func families(value []cssToken) []string {
	var names []string
	for _, part := range splitTokens(value, css.CommaToken) {
		if name := familyName(part); name != "" {
			names = append(names, name)
		}
	}
	return names
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
// tokens.
const maxValue = 1 << 12

// replace replaces var() (CSS Variables 1, section 3).
func (c *customs) replace(value []cssToken) []cssToken {
	if !hasVariable(value) {
		return value
	}
	out, ok := c.append(nil, value, 0)
	if !ok {
		return nil
	}
	return trimSpace(out)
}

func hasVariable(value []cssToken) bool {
	for _, t := range value {
		if t.kind == css.FunctionToken && len(t.text) == 4 && strings.EqualFold(t.text, "var(") {
			return true
		}
	}
	return false
}

func (c *customs) append(out, value []cssToken, depth int) ([]cssToken, bool) {
	if depth > maxNesting || len(out)+len(value) > maxValue {
		return nil, false
	}
	ok := true
	for i := 0; i < len(value) && ok; i++ {
		t := value[i]
		if t.kind != css.FunctionToken || !strings.EqualFold(t.text, "var(") {
			out = append(out, t)
			continue
		}
		inside, rest := inner(value[i:])
		i = len(value) - len(rest) - 1
		if len(inside) == 0 {
			return nil, false
		}
		if found := c.find(inside[0].text); found != nil {
			out, ok = c.append(out, found, depth+1)
			continue
		}
		fallback := trimSpace(inside[1:])
		if len(fallback) == 0 || fallback[0].kind != css.CommaToken {
			return nil, false
		}
		out, ok = c.append(out, fallback[1:], depth+1)
	}
	return out, ok
}
