package progress

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Meter shows one thing that goes on.
type Meter struct {
	label, what string
	out         io.Writer
	terminal    bool
	start       time.Time
	quit        chan string // how the last line begins; empty for none
	done        chan struct{}

	guarded struct {
		sync.Mutex
		detail            func() string // nil for none
		packages, modules int
		rest              []string
	}
}

// keep is how many lines of output are kept for an error message.
const keep = 30

// Start begins to show "label: what, how long" on standard output.
func Start(label, what string) *Meter {
	info, err := os.Stdout.Stat()
	m := newMeter(os.Stdout, label, what)
	m.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	go m.show()
	return m
}

func newMeter(out io.Writer, label, what string) *Meter {
	return &Meter{
		label: label, what: what, out: out, start: time.Now(), quit: make(chan string), done: make(chan struct{}),
	}
}

// Tell has the meter ask how far it has come whenever it shows that.
func (m *Meter) Tell(detail func() string) {
	m.guarded.Lock()
	defer m.guarded.Unlock()
	m.guarded.detail = detail
}

// Follow reads the output of `go build -v` to its end: one line for each package compiled or module downloaded.
func (m *Meter) Follow(r io.Reader) {
	m.Tell(m.built)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m.count(lines.Text())
	}
	_, _ = io.Copy(io.Discard, r) // whatever it says, it must not wait for us
}

func (m *Meter) count(line string) {
	m.guarded.Lock()
	defer m.guarded.Unlock()
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		m.guarded.modules++
	case !strings.ContainsAny(line, " #:"):
		m.guarded.packages++
	default:
		rest := append(m.guarded.rest, line)
		m.guarded.rest = rest[max(0, len(rest)-keep):]
	}
}

func (m *Meter) built() string {
	m.guarded.Lock()
	defer m.guarded.Unlock()
	return fmt.Sprintf("%d packages compiled, %d modules downloaded", m.guarded.packages, m.guarded.modules)
}

// Rest is the end of what was followed, but for the lines that were counted: what went wrong.
func (m *Meter) Rest() string {
	m.guarded.Lock()
	defer m.guarded.Unlock()
	return strings.Join(m.guarded.rest, "\n")
}

func (m *Meter) show() {
	defer close(m.done)
	interval := 15 * time.Second
	if m.terminal {
		interval = time.Second
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.print(m.what, false)
		case last := <-m.quit:
			m.print(last, true)
			return
		}
	}
}

// print prints how far it has come. The last line, which may be empty, stays.
func (m *Meter) print(what string, last bool) {
	line := ""
	if what != "" {
		line = m.line(what)
	}
	if m.terminal {
		fmt.Fprint(m.out, "\r\x1b[K", line)
		if !last {
			return
		}
	} else {
		fmt.Fprint(m.out, line)
	}
	if line != "" {
		fmt.Fprintln(m.out)
	}
}

func (m *Meter) line(what string) string {
	m.guarded.Lock()
	detail := m.guarded.detail
	m.guarded.Unlock()
	line := fmt.Sprintf("%s: %s, %.0f s", m.label, what, time.Since(m.start).Seconds())
	if detail != nil {
		line += ", " + detail()
	}
	return line
}

// Stop says how it ended, in the place of what; nothing stays of it when that is empty.
func (m *Meter) Stop(ended string) {
	m.quit <- ended
	<-m.done
}
