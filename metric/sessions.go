package metric

var sessions = Metric{
	Name: "sessions", Unit: "sessions", Title: "Sessions",
	Definition: "Connections, or associations, with the server that were opened, so that requests could be made in them; attempts that failed or were given up before are left out. One that migrates is one.",
	Of: func(l *Load) (float64, bool) {
		if l.Stream == nil {
			return 0, false
		}
		n := 0
		for _, s := range l.Stream.Figures.Sessions {
			if s.Open > 0 {
				n++
			}
		}
		return float64(n), true
	},
}
