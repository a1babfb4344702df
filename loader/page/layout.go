package page

import "math"

// The assumed width of a letter, and the depth to which elements are placed.
const (
	letterWidth = 0.5 // of the font size
	maxLayout   = 200 // nesting depth; deeper elements get the position of their ancestor at that depth
)

// replaced holds the default sizes of replaced elements (HTML standard, section 15.4).
var replaced = map[string][2]float64{"img": {0, 0}, "iframe": {300, 150}, "video": {300, 150}, "canvas": {300, 150}, "object": {300, 150},
	"embed": {300, 150}, "svg": {300, 150}, "input": {150, 22}, "select": {80, 22}, "textarea": {180, 40}}

// flow places content: blocks below each other, and lines with text and inline
// content.
type flow struct {
	d        *document
	children [][]int // of each element, by its index in the document
	index    map[*element]int
	wanted   map[*element]float64 // what preferred has returned
}

// place estimates where the tops of all elements are, from blocks, lines, grid columns
// and flexible rows, with margins collapsed. Floats stay in the line; relative positions
// and transforms are ignored.
func (d *document) place() {
	f := &flow{d: d, children: make([][]int, len(d.tree.elements)), index: make(map[*element]int, len(d.tree.elements)), wanted: map[*element]float64{}}
	root := -1
	for i, e := range d.tree.elements {
		f.index[e] = i
		if e.parent == nil {
			root = i
			continue
		}
		if parent, ok := f.index[e.parent]; ok {
			f.children[parent] = append(f.children[parent], i)
			e.top = math.Inf(1)
		}
	}
	if root >= 0 {
		f.block(d.tree.elements[root], 0, d.page.view.width, 0)
	}
	for _, e := range d.tree.elements {
		if math.IsInf(e.top, 1) {
			e.top = e.parent.top
		}
	}
}

// line is the line being filled.
type line struct {
	width  float64 // available
	x      float64 // used
	height float64 // so far
	margin float64 // below the previous block
	y      float64
}

// close ends the line.
func (l *line) close() {
	l.y += l.height
	l.x, l.height = 0, 0
}

// put puts something into the line, or into the next one if there is no room, and
// returns its top.
func (l *line) put(width, height float64) (top float64) {
	l.settle()
	if l.x > 0 && l.x+width > l.width {
		l.close()
	}
	l.x += width
	l.height = max(l.height, height)
	return l.y
}

// settle adds the margin below the previous block.
func (l *line) settle() {
	l.y += l.margin
	l.margin = 0
}

// text fills lines with letters.
func (l *line) text(letters int, b *box) {
	if letters == 0 || l.width <= 0 {
		return
	}
	l.settle()
	size := b.font * b.line
	l.height = max(l.height, size)
	l.x += float64(letters) * b.font * letterWidth
	if rows := math.Floor(l.x / l.width); rows > 0 {
		l.y += l.height + (rows-1)*size
		l.x -= rows * l.width
		l.height = size
	}
}

// block places a block's content and returns its height.
func (f *flow) block(e *element, top, width float64, depth int) (height float64) {
	e.top = top
	if e.style == nil || e.style.hidden {
		return 0
	}
	b := &e.style.box
	if b.width >= 0 {
		width = b.width
	}
	if b.maxWidth >= 0 {
		width = min(width, b.maxWidth)
	}
	width = max(1, width-b.sides)
	if _, own, ok := f.size(e); ok {
		return own
	}
	start := top + b.inside/2
	var end float64
	switch {
	case depth > maxLayout:
		end = start
	case b.display == "grid" || b.display == "inline-grid":
		columns, each := b.grid(width)
		end = f.rows(e, start, columns, each, depth)
	case (b.display == "flex" || b.display == "inline-flex") && !b.wraps:
		shown := f.shown(e)
		end = f.rows(e, start, max(1, shown), (width-float64(max(0, shown-1))*b.gaps[1])/float64(max(1, shown)), depth)
	default:
		l := &line{width: width, y: start}
		f.fill(e, l, depth)
		l.close()
		end = l.y
	}
	height = end - top + b.inside/2
	if b.height >= 0 {
		height = b.height
	}
	return max(height, b.minHeight)
}

// fill places an element's text and children in lines.
func (f *flow) fill(e *element, l *line, depth int) {
	b := &e.style.box
	l.text(e.length, b)
	for _, i := range f.children[f.index[e]] {
		child := f.d.tree.elements[i]
		if child.style == nil || child.style.hidden {
			continue
		}
		cb := &child.style.box
		w, h, sized := f.size(child)
		switch {
		case cb.outOfFlow:
			f.block(child, l.y, l.width, depth+1)
		case sized && cb.display != "block":
			child.top = l.put(w, h)
		case cb.display == "inline" && depth < maxLayout:
			child.top = l.y
			f.fill(child, l, depth+1)
		case cb.display == "inline-block" || e.style.box.wraps && (b.display == "flex" || b.display == "inline-flex"):
			width := min(l.width, f.preferred(child, depth))
			top := l.put(width+b.gaps[1], 0)
			l.height = max(l.height, f.block(child, top, width, depth+1)+b.gaps[0])
		default:
			l.close()
			l.y += max(l.margin, cb.above)
			l.margin = 0
			l.y += f.block(child, l.y, l.width, depth+1)
			l.margin = cb.below
		}
	}
}

// rows places children in rows of several columns, each row as high as its
// highest child.
func (f *flow) rows(e *element, top float64, columns int, width float64, depth int) (end float64) {
	height, column := 0.0, 0
	for _, i := range f.children[f.index[e]] {
		child := f.d.tree.elements[i]
		if child.style == nil || child.style.hidden {
			continue
		}
		if column == columns {
			top += height + e.style.box.gaps[0]
			height, column = 0, 0
		}
		height = max(height, f.block(child, top, width, depth+1))
		column++
	}
	return top + height
}

func (f *flow) shown(e *element) (count int) {
	for _, i := range f.children[f.index[e]] {
		if child := f.d.tree.elements[i]; child.style != nil && !child.style.hidden {
			count++
		}
	}
	return count
}

// size returns the size of an element that has its own.
func (f *flow) size(e *element) (width, height float64, ok bool) {
	size, ok := replaced[e.node.Data]
	if !ok {
		return 0, 0, false
	}
	width, height = size[0], size[1]
	if e.token != nil {
		w, hasWidth := dimension(e.token, "width")
		h, hasHeight := dimension(e.token, "height")
		if hasWidth {
			width = w
		}
		if hasHeight {
			height = h
		}
	}
	b := &e.style.box
	if b.width >= 0 {
		if width > 0 && b.height < 0 {
			height *= b.width / width
		}
		width = b.width
	}
	if b.height >= 0 {
		height = b.height
	}
	return width, height + b.above + b.below, true
}

// preferred returns an element's preferred width.
func (f *flow) preferred(e *element, depth int) float64 {
	b := &e.style.box
	if b.width >= 0 {
		return b.width + b.sides
	}
	if w, _, ok := f.size(e); ok {
		return w
	}
	if width, known := f.wanted[e]; known {
		return width
	}
	width := float64(e.length) * b.font * letterWidth
	if depth < maxLayout {
		for _, i := range f.children[f.index[e]] {
			if child := f.d.tree.elements[i]; child.style != nil && !child.style.hidden {
				width = max(width, f.preferred(child, depth+1))
			}
		}
	}
	f.wanted[e] = width + b.sides
	return width + b.sides
}
