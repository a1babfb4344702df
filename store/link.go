package store

import (
	"database/sql"
	"math"
	"time"
)

// Link is the network of a stream as its study states it.
type Link struct {
	Delay         time.Duration // average of the access links: one-way, in each direction
	Loss          float64       // packet error rate: the probability of each packet in each direction
	Reconnections int           // how often the client moves to the other access link
}

// values returns the values of the columns link_delay_ms, loss and reconnections.
func (l *Link) values() []any {
	if l == nil {
		return []any{nil, nil, nil}
	}
	return []any{float64(l.Delay) / 1e6, l.Loss, l.Reconnections}
}

// linkFields returns the scan destinations of the same columns. Scanning a non-null value
// makes the link.
func linkFields(l **Link) []any {
	return []any{
		linkField{l, func(l *Link, ms float64) { l.Delay = time.Duration(math.Round(ms * 1e6)) }},
		linkField{l, func(l *Link, loss float64) { l.Loss = loss }},
		linkField{l, func(l *Link, n float64) { l.Reconnections = int(n) }},
	}
}

// linkField scans one nullable field of a link.
type linkField struct {
	link **Link
	set  func(*Link, float64)
}

// Scan stores a column's value.
func (f linkField) Scan(src any) error {
	var column sql.NullFloat64
	if err := column.Scan(src); err != nil || !column.Valid {
		return err
	}
	if *f.link == nil {
		*f.link = &Link{}
	}
	f.set(*f.link, column.Float64)
	return nil
}
