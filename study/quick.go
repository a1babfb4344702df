package study

// Quick says which part of a study a quick run measures.
type Quick struct {
	Only    []Selection // the cells that at least one of these picks; empty: all cells
	Repeats int         // loads of each cell, at least 1
	Loads   int         // of each session; 0: as many as in the whole study
}

// UseQuick reduces the study to the part that a quick run measures.
func (s *Study) UseQuick() {
	s.Part, s.Repeats = s.Quick.Only, s.Quick.Repeats
	if s.Quick.Loads > 0 {
		session := s.Options.Session
		session.Loads = s.Quick.Loads
		s.UseSession(session)
	}
}
