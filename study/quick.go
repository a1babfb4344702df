package study

// Quick says which part of a study a quick run measures.
type Quick struct {
	Only    []Selection // of the cells, those that one of these picks; none: all cells
	Repeats int         // loads of each cell, at least 1
}

// UseQuick reduces the study to the part that a quick run measures.
func (s *Study) UseQuick() { s.Only, s.Repeats = s.Quick.Only, s.Quick.Repeats }
