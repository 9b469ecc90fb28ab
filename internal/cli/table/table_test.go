package table

import (
	"bytes"
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

func sample() *Table {
	t := New("NAME", "READY")
	t.Row(Good, "a", "True")
	t.Row(Bad, "longer", "False")
	t.Row(Plain, "b", "Unknown")
	t.Row(Warn, "c", "True")
	return t
}

const text = "NAME     READY\na        True\nlonger   False\nb        Unknown\nc        True\n"

func TestWriteWithoutTerminalIsPlain(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(sample().Write(&out)).To(Succeed())
	g.Expect(out.String()).To(Equal(text))

	file, err := os.CreateTemp(t.TempDir(), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sample().Write(file)).To(Succeed())
	g.Expect(file.Close()).To(Succeed())
	content, err := os.ReadFile(file.Name())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(Equal(text))
}

func TestColourWrapsWholeRows(t *testing.T) {
	g := NewWithT(t)
	g.Expect(sample().colour(text)).To(Equal("NAME     READY\n\x1b[32ma        True\x1b[0m\n" +
		"\x1b[31mlonger   False\x1b[0m\nb        Unknown\n\x1b[33mc        True\x1b[0m\n"))
}

func TestWriteTellsOfABrokenPipe(t *testing.T) {
	g := NewWithT(t)
	reader, writer, err := os.Pipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reader.Close()).To(Succeed())
	g.Expect(sample().Write(writer)).NotTo(Succeed())
	g.Expect(writer.Close()).To(Succeed())
}
