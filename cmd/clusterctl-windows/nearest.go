package main

import (
	"fmt"
	"strings"
)

// mostWrong is how many letters of a word may be wrong, missing or too many, so that it still counts as misspelled.
const mostWrong = 2

// didYouMean is the end of a sentence about a word that is unknown; empty if none of the known ones is like it.
func didYouMean(word string, choices []string) string {
	best, fewest := "", mostWrong+1
	bare := strings.ToLower(strings.TrimLeft(word, "-"))
	for _, choice := range choices {
		name := strings.TrimLeft(choice, "-")
		wrong := lettersWrong(bare, name)
		if len(bare) > 1 && strings.HasPrefix(name, bare) {
			wrong = min(wrong, 1)
		}
		// A word of which most letters are wrong is another word.
		if wrong < fewest && wrong < len(name) && wrong < max(len(bare), 2) {
			best, fewest = choice, wrong
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// lettersWrong counts the letters to change, add or remove, so that one word becomes the other.
func lettersWrong(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			wrong := diagonal
			if a[i] != b[j] {
				wrong = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], wrong
		}
	}
	return row[len(b)]
}
