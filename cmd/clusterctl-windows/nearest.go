package main

import (
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// mostWrong is how many letters of a word may be wrong, missing or too many, so that it still counts as misspelled.
const mostWrong = 2

// didYouMean is the end of a sentence about a word that is unknown; empty if none of the known ones is like it.
func didYouMean(word string, choices []string) string {
	best, fewest := "", mostWrong+1
	bare := strings.ToLower(strings.TrimLeft(word, "-"))
	for _, choice := range choices {
		name := strings.TrimLeft(choice, "-")
		wrong := objects.Distance(bare, name)
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
