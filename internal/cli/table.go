package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
)

// tone is the colour of a row, as a terminal's escape sequence.
type tone string

const (
	plain tone = ""
	good  tone = "\x1b[32m"
	bad   tone = "\x1b[31m"
	warn  tone = "\x1b[33m"
	dim   tone = "\x1b[2m"
	reset      = "\x1b[0m"
)

// table prints aligned columns for people. A row is coloured as a whole after it was laid out, so that escape sequences
// never move a column; without a terminal, or with NO_COLOR set (https://no-color.org), nothing but text is written.
type table struct {
	cells strings.Builder
	// tones are those of all lines, the header's first.
	tones []tone
}

func newTable(header ...string) *table {
	t := &table{}
	t.row(plain, header...)
	return t
}

func (t *table) row(tone tone, cells ...string) {
	t.cells.WriteString(strings.Join(cells, "\t") + "\n")
	t.tones = append(t.tones, tone)
}

// write lays the table out and prints it.
func (t *table) write(out io.Writer) error {
	var laid bytes.Buffer
	columns := tabwriter.NewWriter(&laid, 0, 0, 3, ' ', 0)
	_, _ = io.WriteString(columns, t.cells.String()) // into memory
	_ = columns.Flush()                              // into memory
	text := laid.String()
	if file, ok := out.(*os.File); ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd())) {
		text = t.colour(text)
	}
	_, err := io.WriteString(out, text)
	return err
}

// colour wraps each line into the colour of its tone.
func (t *table) colour(text string) string {
	var out strings.Builder
	at := 0
	for line := range strings.Lines(text) {
		if code := string(t.tones[at]); code != "" {
			line = code + strings.TrimRight(line, "\n") + reset + "\n"
		}
		out.WriteString(line)
		at++
	}
	return out.String()
}
