package main

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// pictureColumns is how wide the terminal of a picture is.
	pictureColumns = 132
	// Of one character, and of the window around all of them.
	charWidth, charHeight, margin, bar = 8, 18, 16, 34
)

// styles are the classes of a picture, by the number of a control sequence. The window is dark and has a border, so that it is
// read on a light page as on a dark one.
var styles = []struct{ code, rule string }{
	{bold, "font-weight:bold;fill:#ffffff"},
	{dim, "fill:#8b949e"},
	{red, "fill:#ff7b72"},
	{green, "fill:#56d364"},
	{yellow, "fill:#e3b341"},
	{cyan, "fill:#76e3ea"},
}

// picture draws lines of a terminal as SVG, which has text alone: it can be searched, and needs nothing from elsewhere.
func picture(name string, lines []string) string {
	width, height := pictureColumns*charWidth+2*margin, len(lines)*charHeight+bar+margin
	var svg strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&svg, format+"\n", args...) }
	put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, escaped(name))
	put(`<style>`)
	put(`text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3}`)
	for _, s := range styles {
		put(`.c%s{%s}`, s.code, s.rule)
	}
	put(`</style>`)
	put(`<rect x=".5" y=".5" width="%d" height="%d" rx="10" fill="#0d1117" stroke="#6e7681"/>`, width-1, height-1)
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		put(`<circle cx="%d" cy="17" r="6" fill="%s"/>`, margin+6+20*i, colour)
	}
	put(`<text x="%d" y="22" text-anchor="middle" class="c%s">%s</text>`, width/2, dim, escaped(name))
	for i, line := range lines {
		if line != "" {
			put("%s", drawn(line, bar+(i+1)*charHeight-4))
		}
	}
	put(`</svg>`)
	return svg.String()
}

// What changes how text looks, and words between which there is one blank at most. Words behind more begin at a column, so that
// tables stand in any font.
var (
	sequence = regexp.MustCompile(`\x1b\[(\d+)m`)
	words    = regexp.MustCompile(`\S+(?: \S+)*`)
)

// drawn is one line.
func drawn(line string, y int) string {
	var text strings.Builder
	column, class := 0, ""
	put := func(run string) {
		for _, found := range words.FindAllStringIndex(run, -1) {
			x := margin + charWidth*(column+utf8.RuneCountInString(run[:found[0]]))
			fmt.Fprintf(&text, `<tspan x="%d"%s>%s</tspan>`, x, class, escaped(run[found[0]:found[1]]))
		}
		column += utf8.RuneCountInString(run)
	}
	end := 0
	for _, found := range sequence.FindAllStringSubmatchIndex(line, -1) {
		put(line[end:found[0]])
		end, class = found[1], ""
		if code := line[found[2]:found[3]]; code != plainText {
			class = fmt.Sprintf(` class="c%s"`, code)
		}
	}
	put(line[end:])
	return fmt.Sprintf(`<text y="%d">%s</text>`, y, text.String())
}

func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a strings.Builder takes everything
	return out.String()
}
