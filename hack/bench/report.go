package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// table is all targets in one era with so many sessions. The first row is the direct way, the second one the yardstick.
type table struct {
	era      string
	sessions int
	rows     []row
}

type report struct {
	machine    string
	rounds     int
	window     time.Duration
	throughput []table
	others     []figure
}

// machine says what this was measured on.
func machine() string {
	model := "unknown processor"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d processors, %s, %s/%s", model, runtime.NumCPU(), runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}

var columns = []string{"", "calls/s", "of ReverseProxy", "p50 ms", "added p50", "p99 ms", "CPU µs a call",
	"allocations a call", "RSS MiB", "upstream requests a call", "failed"}

// cells are a row of a table. Its added p50 is compared to what the yardstick adds.
func (t *table) cells(r *row) []string {
	direct, yardstick := &t.rows[0], &t.rows[1]
	cells := []string{
		r.name, fmt.Sprintf("%.0f", r.throughput), fmt.Sprintf("%.0f %%", 100*r.throughput/yardstick.throughput),
		fmt.Sprintf("%.2f", r.p50), "", fmt.Sprintf("%.2f", r.p99), "", "", "",
		fmt.Sprintf("%.2f", r.upstream), fmt.Sprintf("%.0f", r.failed),
	}
	if r != direct {
		cells[4] = fmt.Sprintf("%+.2f (× %.1f)", r.p50-direct.p50, (r.p50-direct.p50)/(yardstick.p50-direct.p50))
	}
	if r.cpu > 0 {
		cells[6] = fmt.Sprintf("%.0f (× %.1f)", r.cpu, r.cpu/yardstick.cpu)
		cells[7], cells[8] = fmt.Sprintf("%.0f", r.mallocs), fmt.Sprintf("%.0f", r.rss)
	}
	return cells
}

func (r *report) printThroughput(to io.Writer, at int) {
	t := &r.throughput[at]
	fmt.Fprintf(to, "\n%s, %d sessions\n", t.era, t.sessions)
	lines := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, strings.Join(columns, "\t"))
	for i := range t.rows {
		fmt.Fprintln(lines, strings.Join(t.cells(&t.rows[i]), "\t"))
	}
	_ = lines.Flush()
}

func (r *report) printOthers(to io.Writer) {
	fmt.Fprintln(to)
	for _, f := range r.others {
		fmt.Fprintf(to, "%s: %s\n", f.what, f.value)
	}
}

// write writes the tables as a page, with a chart beside it.
func (r *report) write(path string) error {
	var page strings.Builder
	fmt.Fprintf(&page, `# What the gateway costs

Written by %s. Machine: %s, shared by client, gateway and upstream server. Medians of %d interleaved
measurements of %s each. The yardstick is Go's own httputil.ReverseProxy in the same run, which does nothing but copy.
Only the ratios mean something on another machine.

![Throughput in parts of ReverseProxy's](benchmarks.svg)
`, "`make bench`", r.machine, r.rounds, r.window)
	for i := range r.throughput {
		t := &r.throughput[i]
		fmt.Fprintf(&page, "\n## %s era, %d sessions\n\n| %s |\n|%s\n", t.era, t.sessions, strings.Join(columns, " | "),
			strings.Repeat("---|", len(columns)))
		for j := range t.rows {
			fmt.Fprintf(&page, "| %s |\n", strings.Join(t.cells(&t.rows[j]), " | "))
		}
	}
	page.WriteString("\n## Besides\n\n| | |\n|---|---|\n")
	for _, f := range r.others {
		fmt.Fprintf(&page, "| %s | %s |\n", f.what, f.value)
	}
	if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(path, ".md")+".svg", []byte(r.chart()), 0o644)
}

// chart shows each target's throughput as a bar, in parts of the yardstick's.
func (r *report) chart() string {
	const bar, gap, left, width = 16, 26, 250, 400
	colours := []string{"#9aa5b1", "#52606d", "#d64545", "#2186eb", "#8ac4ff"}
	var body strings.Builder
	y := 20
	for i := range r.throughput {
		t := &r.throughput[i]
		fmt.Fprintf(&body, `<text x="10" y="%d" font-weight="bold">%s, %d sessions</text>`+"\n", y, t.era, t.sessions)
		y += 8
		for j := range t.rows {
			share := t.rows[j].throughput / t.rows[1].throughput
			length := int(min(share, 2) * width / 2)
			fmt.Fprintf(&body, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%d" height="%d" `+
				`fill="%s"/><text x="%d" y="%d">%.0f %%</text>`+"\n", left-8, y+13, t.rows[j].name, left, y+2, length, bar-2,
				colours[j%len(colours)], left+length+6, y+13, 100*share)
			y += bar
		}
		y += gap
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" `+
		`font-size="12"><rect width="100%%" height="100%%" fill="white"/>`+"\n%s</svg>\n", left+width+80, y, body.String())
}
