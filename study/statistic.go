package study

import (
	"fmt"
	"strconv"
	"strings"
)

// Median is the statistic of figures and claims that name none.
const Median = "median"

// The other statistics; a percentile is "p1" to "p99".
const (
	Mean = "mean"
	Min  = "min"
	Max  = "max"
)

// Percentile returns the quantile that a percentile names, 0.95 for "p95". ok is false for any other statistic.
func Percentile(statistic string) (q float64, ok bool) {
	digits, is := strings.CutPrefix(statistic, "p")
	n, err := strconv.Atoi(digits)
	if !is || err != nil || n < 1 || n > 99 || strconv.Itoa(n) != digits {
		return 0, false
	}
	return float64(n) / 100, true
}

// CheckStatistic returns an error if the word is none of the statistics. The error lists them.
func CheckStatistic(word string) error {
	switch word {
	case Median, Mean, Min, Max:
		return nil
	}
	if _, ok := Percentile(word); ok {
		return nil
	}
	return fmt.Errorf("unknown statistic %.40q: want median, mean, min, max, or a percentile from p1 to p99", word)
}
