package catalog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/catalog"
)

// thousand is a list of 1,000 tools with 420 bytes each.
func thousand() []json.RawMessage {
	tools := make([]json.RawMessage, 1000)
	for i := range tools {
		head := fmt.Sprintf(`{"name":"tool_%04d","title":"Tool number %d","inputSchema":{"type":"object","properties":`+
			`{"owner":`+
			`{"type":"string","description":"Owner of the repository"},"limit":{"type":"integer","minimum":1,"maximum":100,`+
			`"default":30}},"required":["owner"],"additionalProperties":false},"annotations":{"readOnlyHint":true},`+
			`"description":"`, i, i)
		tools[i] = json.RawMessage(head + strings.Repeat("d", 420-len(head)-2) + `"}`)
	}
	return tools
}

// BenchmarkParse reads the same list as a catalog and, taking turns, as plain values; "ratio" is the time of the one in
// times of the other.
func BenchmarkParse(b *testing.B) {
	tools := thousand()
	b.SetBytes(int64(len(bytes.Join(rawBytes(tools), nil))))
	b.ReportAllocs()
	var ours, plain time.Duration
	for b.Loop() {
		start := time.Now()
		if c := catalog.Parse(tools); len(c.Tools) != len(tools) || c.Warnings.Count != 0 {
			b.Fatal(c.Warnings)
		}
		ours += time.Since(start)
		b.StopTimer()
		start = time.Now()
		decodePlain(b, tools)
		plain += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(float64(ours)/float64(plain), "times-json.Decode")
}

// BenchmarkPlainDecode is what BenchmarkParse is compared with.
func BenchmarkPlainDecode(b *testing.B) {
	tools := thousand()
	b.SetBytes(int64(len(bytes.Join(rawBytes(tools), nil))))
	b.ReportAllocs()
	for b.Loop() {
		decodePlain(b, tools)
	}
}

func decodePlain(b *testing.B, tools []json.RawMessage) {
	for _, raw := range tools {
		var v any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			b.Fatal(err)
		}
	}
}

func rawBytes(tools []json.RawMessage) [][]byte {
	all := make([][]byte, len(tools))
	for i, raw := range tools {
		all[i] = raw
	}
	return all
}

func BenchmarkEncode(b *testing.B) {
	d := document(catalog.Parse(thousand()))
	b.SetBytes(int64(d.Catalog.Bytes))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	d := document(catalog.Parse(thousand()))
	encoded, err := d.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(d.Catalog.Bytes))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := catalog.Decode(encoded.Data, encoded.BinaryData); err != nil {
			b.Fatal(err)
		}
	}
}
