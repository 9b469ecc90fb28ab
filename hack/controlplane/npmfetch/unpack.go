package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// mostUnpacked bounds what one package may unpack to.
const mostUnpacked = 1 << 30

// unpack writes the tarball's files below dir, without their first folder (npm calls it "package", others by name).
// Links and devices are left out, as npm does; a path that leads out of dir is refused.
func unpack(tarball []byte, dir string) error {
	compressed, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()

	left := int64(mostUnpacked)
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if left -= header.Size; left < 0 {
			return fmt.Errorf("unpacks to more than %d bytes", mostUnpacked)
		}
		if err := unpackFile(root, header, archive); err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, header *tar.Header, content io.Reader) error {
	_, name, ok := strings.Cut(strings.TrimPrefix(header.Name, "./"), "/")
	if !ok || !filepath.IsLocal(name) {
		return fmt.Errorf("file %q leads out of the package", header.Name)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if header.Mode&0o111 != 0 {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
