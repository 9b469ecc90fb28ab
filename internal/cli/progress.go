package cli

import (
	"fmt"
	"io"

	"github.com/mooring-dev/mooring/internal/cli/await"
)

// progress tells a person on standard error what is being waited for.
type progress struct{ out io.Writer }

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// step says that something begins; the returned function says that it ended, and how long it took.
func (p *progress) step(format string, arguments ...any) func() {
	return await.Step(p.out, fmt.Sprintf(format, arguments...))
}

// note prints one line.
func (p *progress) note(format string, arguments ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", arguments...)
}
