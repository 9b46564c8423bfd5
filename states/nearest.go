// SPDX-License-Identifier: Apache-2.0

package states

import "strings"

// maxTypo bounds the length of a word, in bytes, for which nearest looks for another: no word of the API is longer.
const maxTypo = 16

// nearest returns the one of the words that most resembles a mistyped word, regardless of case, and "" if none
// differs by at most a third of its letters, or by one. Of equally near words it returns the first.
func nearest(word string, words []string) string {
	if len(word) > maxTypo {
		return ""
	}
	found, least := "", max(1, len(word)/3)+1
	for _, candidate := range words {
		if d := distance(strings.ToLower(word), candidate); d < least {
			found, least = candidate, d
		}
	}
	return found
}

// distance is the Levenshtein distance in bytes: the number of insertions, deletions and replacements
// that make a out of b.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances from a's first i bytes to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// wordsOfAPI returns the words of the series' API, "rebuild" included, in the order of verbRows.
func (s Series) wordsOfAPI() []string {
	var words []string
	for _, row := range verbRows {
		if row.since <= s {
			words = append(words, row.word)
		}
	}
	return words
}
