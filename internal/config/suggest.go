package config

import "strings"

// Nearest is the known word that a mistyped one was most likely meant to be: one
// it is the beginning of, from three letters on, or one slip away, two when it
// has more than four letters. It is "" when none is that close.
func Nearest(word string, known []string) string {
	if len(word) > 100 {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", min(2, max(len(word), 1)) // a slip in a single letter leaves nothing
	if len(word) > 4 {
		least = 3
	}
	for _, k := range known {
		d := distance(word, strings.ToLower(k))
		if len(word) > 2 && strings.HasPrefix(strings.ToLower(k), word) {
			d = min(d, 1) // an abbreviation
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// DidYouMean is the end of a message about an unknown word, "; did you mean ring6?", if one
// that is known is near.
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours between two words.
func distance(a, b string) int {
	// Rows of the usual table: d[j] is the distance of a[:i] and b[:j].
	var before []int
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}
