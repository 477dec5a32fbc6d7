package lab_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// onlyPage is for who reads a page as a stranger: make quick-start.
var onlyPage = flag.String("tutorial.page", "", "run the commands of this page alone, and print each with its output")

// wantedOf are the blocks to run. Those of one page come as they stand there.
func wantedOf(blocks []block) []block {
	if *onlyPage == "" {
		return blocks
	}
	return slices.DeleteFunc(blocks, func(b block) bool { return b.page != *onlyPage })
}

// first says that a block builds what the others need, where install.md, which has the same, is not run.
func (b block) first() bool {
	return *onlyPage == "quick-start.md" && b.section == "A pool for a cluster on vSphere" && strings.HasPrefix(b.text, "git clone ")
}

// built is the folder of our programs, for a page whose reader has set it with names that are not run.
func built(dir string) string {
	if *onlyPage == "" {
		return ""
	}
	return filepath.Join(dir, "cluster-api-provider-windows", "bin") + ":"
}

// tracing has the shell print commands as they are run, or as they are written.
func tracing() string {
	if *onlyPage == "" {
		return "-x"
	}
	return "-v"
}

// show prints a block as its reader sees it: commands behind a prompt, and what they print.
func (b block) show(printed string) {
	if *onlyPage == "" {
		return
	}
	fmt.Printf("\n## %s\n\n", b.section)
	written := strings.Split(b.text, "\n")
	for line := range strings.Lines(printed) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "offline" || strings.HasPrefix(line, "{ set +xv"):
		case strings.HasPrefix(line, " ") && slices.Contains(written, line):
			fmt.Println(">" + line)
		case line != "" && slices.Contains(written, line):
			fmt.Println("$ " + line)
		default:
			fmt.Println(line)
		}
	}
}

// showExcuse prints why a block is not run.
func (b block) showExcuse() {
	if *onlyPage != "" {
		first, _, _ := strings.Cut(b.text, "\n")
		fmt.Printf("\n## %s\n\n$ %s ...\n[not run: it %s]\n", b.section, first, notRun[b.excuse()])
	}
}
