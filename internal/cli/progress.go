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
func (p *progress) step(format string, arguments ...any) (done func()) {
	text, began := fmt.Sprintf(format, arguments...), time.Now()
	p.note("%s ...", text)
	return func() { p.note("%s: done in %s", text, time.Since(began).Round(100*time.Millisecond)) }
}

// note prints one line.
func (p *progress) note(format string, arguments ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", arguments...)
}
