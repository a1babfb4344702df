package terminal

import "math"

// Sparkline draws how many values lie in each of columns equal parts of the range from low to high, one character each: the more
// values, the higher. Values outside the range count at its ends. An empty part is a space.
func (s Screen) Sparkline(values []float64, low, high float64, columns int) string {
	heights := []rune(".:-=+*#@")
	if s.Unicode {
		heights = []rune("▁▂▃▄▅▆▇█")
	}
	counts, most := make([]int, columns), 1
	for _, v := range values {
		part := 0
		if high > low {
			part = int(min(max((v-low)/(high-low)*float64(columns), 0), float64(columns-1)))
		}
		counts[part]++
		most = max(most, counts[part])
	}
	line := make([]rune, columns)
	for i, n := range counts {
		line[i] = ' '
		if n > 0 {
			line[i] = heights[int(math.Ceil(float64(n*len(heights))/float64(most)))-1]
		}
	}
	return string(line)
}
