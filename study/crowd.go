package study

import (
	"strconv"
	"time"
)

// Crowd holds the settings that apply to every crowd of a study.
type Crowd struct {
	// Pages is how many pages all active clients together load at least. Each client loads the page
	// at least once.
	Pages int
	// Rest is how long idle clients are watched after their load, while nothing is under way.
	Rest time.Duration
}

// What the clients of a crowd do once they are connected.
const (
	ActivityIdle   = "idle"   // each loads the page once, and then nothing is under way
	ActivityActive = "active" // each loads the page again and again
)

// Clients returns the number of clients of a cell of Crowds.
func (c Cell) Clients() int {
	n, _ := strconv.Atoi(c.On(AxisClients)) // whoever made the cell has checked it
	return n
}
