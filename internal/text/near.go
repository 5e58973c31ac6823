package text

import (
	"slices"
	"strings"
)

// Distance returns the number of bytes that must be inserted, deleted or replaced to turn a into b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// Near returns the known word that most resembles word, ignoring case, or "" if none is similar enough.
func Near(word string, known []string) string {
	for i := 1; i < len(word); i++ { // two swapped letters are one mistake
		swapped := word[:i-1] + string(word[i]) + string(word[i-1]) + word[i+1:]
		if at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, swapped) }); at >= 0 && word[i] != word[i-1] {
			return known[at]
		}
	}
	best, least := "", 3
	for _, k := range known {
		if d := Distance(strings.ToLower(word), strings.ToLower(k)); d < least && d < len(k)/2+1 {
			best, least = k, d
		}
	}
	return best
}
