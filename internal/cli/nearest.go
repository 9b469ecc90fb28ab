package cli

import "strings"

// shortest is how many letters of a name's beginning tell it.
const shortest = 3

// nearest is the one of names that was most likely meant by a name that is none of them; empty when none is near. A
// name is near when a letter or two is wrong, missing, too much or exchanged with its neighbour, less in a short name,
// or when what was typed is its beginning. Of several that are as near, it is the first.
func nearest(name string, names []string) string {
	best, least := "", min(2, len(name)/shortest)+1
	for _, candidate := range names {
		away := distance(name, candidate)
		if away > 1 && len(name) >= shortest && strings.HasPrefix(candidate, name) {
			away = 1
		}
		if away < least {
			best, least = candidate, away
		}
	}
	return best
}

// distance is how many letters must be changed, added, taken away or exchanged with their neighbours to make b of a,
// where no letter is touched twice. Names are ASCII.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
