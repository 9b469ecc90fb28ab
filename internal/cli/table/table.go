package table

import (
	"bytes"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
)

// Tone is how a row feels.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Good
	Bad
	Warn
	Dim
)

var colours = map[Tone]string{Good: "\x1b[32m", Bad: "\x1b[31m", Warn: "\x1b[33m", Dim: "\x1b[2m"}

const reset = "\x1b[0m"

// Table is a header and rows of as many cells.
type Table struct {
	header []string
	rows   [][]string
	tones  []Tone
}

// New returns a table with this header.
func New(header ...string) *Table { return &Table{header: header} }

// Row adds a row.
func (t *Table) Row(tone Tone, cells ...string) {
	t.rows, t.tones = append(t.rows, cells), append(t.tones, tone)
}

// Write lays the table out and prints it.
func (t *Table) Write(out io.Writer) error {
	var laid bytes.Buffer
	columns := tabwriter.NewWriter(&laid, 0, 0, 3, ' ', 0)
	for _, cells := range append([][]string{t.header}, t.rows...) {
		_, _ = io.WriteString(columns, strings.Join(cells, "\t")+"\n") // into memory
	}
	_ = columns.Flush() // into memory
	if !coloured(out) {
		_, err := laid.WriteTo(out)
		return err
	}
	_, err := io.WriteString(out, t.colour(laid.String()))
	return err
}

// colour wraps each row into the colour of its tone.
func (t *Table) colour(text string) string {
	var out strings.Builder
	row := -1 // the header
	for line := range strings.Lines(text) {
		code := ""
		if row >= 0 {
			code = colours[t.tones[row]]
		}
		if code != "" {
			line = code + strings.TrimRight(line, "\n") + reset + "\n"
		}
		out.WriteString(line)
		row++
	}
	return out.String()
}

// coloured tells whether out is read by a person who wants colours.
func coloured(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd()))
}
