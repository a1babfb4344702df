package network

import "strings"

// Nearest returns the entry of words that word was probably meant to be: the
// one at the smallest edit distance (Levenshtein, case ignored), the earlier
// one on a tie. It returns "" if all are further away than half of word's
// length.
func Nearest(word string, words []string) string {
	best, bestDistance := "", len(word)/2+1
	for _, w := range words {
		if d := editDistance(strings.ToLower(word), strings.ToLower(w)); d < bestDistance {
			best, bestDistance = w, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
