package cli

import (
	"fmt"
	"io"
	"time"
)

// progress tells a person on standard error what is being waited for.
type progress struct{ out io.Writer }

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// step says that something begins; the returned function says that it ended, and how long it took.
func (p *progress) step(format string, arguments ...any) func() {
	text := fmt.Sprintf(format, arguments...)
	_, _ = fmt.Fprintf(p.out, "%s ...\n", text)
	began := time.Now()
	return func() {
		_, _ = fmt.Fprintf(p.out, "%s: done in %s\n", text, time.Since(began).Round(100*time.Millisecond))
	}
}

// note prints one line.
func (p *progress) note(format string, arguments ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", arguments...)
}
