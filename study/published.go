package study

// Published holds a table printed in a paper.
type Published struct {
	Source string // author, year, table
	Metric string // the metric of ours that the table reports
	Unit   string // the table's unit
	// Statistic names the statistic of a cell's loads that the table prints (CheckStatistic); in a study with
	// sessions, of each session.
	Statistic string
	Figures   []Figure
}

// Figure holds one figure of a printed table.
type Figure struct {
	Row, Column           int // in the table, from 1
	RowLabel, ColumnLabel string
	Cell                  Selection // picks one cell of the study
	Printed               string    // as printed in the paper
	Value                 float64   // in the metric's unit
}
