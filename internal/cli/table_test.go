package cli

import (
	"bytes"
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

func sampleTable() *table {
	t := newTable("NAME", "READY")
	t.row(good, "a", "True")
	t.row(bad, "longer", "False")
	t.row(plain, "b", "Unknown")
	t.row(warn, "c", "True")
	return t
}

const sampleText = "NAME     READY\na        True\nlonger   False\nb        Unknown\nc        True\n"

func TestWriteWithoutTerminalIsPlain(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(sampleTable().write(&out)).To(Succeed())
	g.Expect(out.String()).To(Equal(sampleText))

	file, err := os.CreateTemp(t.TempDir(), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sampleTable().write(file)).To(Succeed())
	g.Expect(file.Close()).To(Succeed())
	content, err := os.ReadFile(file.Name())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(Equal(sampleText))
}

func TestColourWrapsWholeRows(t *testing.T) {
	g := NewWithT(t)
	g.Expect(sampleTable().colour(sampleText)).To(Equal("NAME     READY\n\x1b[32ma        True\x1b[0m\n" +
		"\x1b[31mlonger   False\x1b[0m\nb        Unknown\n\x1b[33mc        True\x1b[0m\n"))
}

func TestWriteTellsOfABrokenPipe(t *testing.T) {
	g := NewWithT(t)
	reader, writer, err := os.Pipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reader.Close()).To(Succeed())
	g.Expect(sampleTable().write(writer)).NotTo(Succeed())
	g.Expect(writer.Close()).To(Succeed())
}
