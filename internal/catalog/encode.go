package catalog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// SchemaVersion stands in every document written here. Documents of the version before are read too.
const SchemaVersion = 1

// Keys of the ConfigMaps.
const (
	CatalogKey  = "catalog.json"  // what is offered
	ApprovedKey = "approved.json" // what was approved
	MCPKey      = "mcp.json"      // how to connect
	gzipSuffix  = ".gz"
)

// Values of Encoded.Encoding.
const (
	EncodingIdentity = "identity"
	EncodingGzip     = "gzip"
)

// Sizes of a ConfigMap's content. Kubernetes refuses more than 1 MiB, and etcd requests of more than 1.5 MiB, in which
// binary data takes 4/3 of its size.
const (
	MaxPlainBytes      = 768 << 10
	MaxCompressedBytes = 900 << 10
	// MaxDocumentBytes is the most that a document may have, compressed or not, so that what was written can be read
	// in bounded memory.
	MaxDocumentBytes = 32 << 20
)

// Errors of Encode and Decode, wrapped with particulars.
var (
	ErrTooLarge           = errors.New("catalog too large")
	ErrNoDocument         = errors.New("no catalog document")
	ErrMalformed          = errors.New("malformed catalog document")
	ErrUnsupportedVersion = errors.New("unsupported schemaVersion")
	ErrDigestMismatch     = errors.New("digest mismatch")
)

// Encoded is the content of a ConfigMap.
type Encoded struct {
	Data       map[string]string
	BinaryData map[string][]byte
	// Encoding is EncodingIdentity, or EncodingGzip when documents stand compressed in BinaryData.
	Encoding string
}

// Same reports whether a ConfigMap of this content is already what e says, so that nothing needs to be written.
func (e Encoded) Same(data map[string]string, binaryData map[string][]byte) bool {
	return maps.Equal(e.Data, data) && maps.EqualFunc(e.BinaryData, binaryData, bytes.Equal)
}

// EncodingOf is the Encoding of a ConfigMap with this binary data.
func EncodingOf(binaryData map[string][]byte) string {
	if _, compressed := binaryData[CatalogKey+gzipSuffix]; compressed {
		return EncodingGzip
	}
	return EncodingIdentity
}

// Pack lays out documents by key: plain while they fit, else each compressed under its key and ".gz", but for the
// small mcp.json, which clients read as it is. Its error wraps ErrTooLarge.
func Pack(documents map[string][]byte) (Encoded, error) {
	plain := Encoded{Data: map[string]string{}, Encoding: EncodingIdentity}
	size := 0
	for key, document := range documents {
		size += len(key) + len(document)
		if len(document) > MaxDocumentBytes {
			return Encoded{}, fmt.Errorf("%w: %s has %d MiB", ErrTooLarge, key, len(document)>>20)
		}
		plain.Data[key] = string(document)
	}
	if size <= MaxPlainBytes {
		return plain, nil
	}
	packed := Encoded{Data: map[string]string{}, BinaryData: map[string][]byte{}, Encoding: EncodingGzip}
	size = 0
	for key, document := range documents {
		if key == MCPKey {
			packed.Data[key] = string(document)
			size += len(key) + len(document)
			continue
		}
		compressed := compress(document)
		packed.BinaryData[key+gzipSuffix] = compressed
		size += len(key) + len(gzipSuffix) + len(compressed)
	}
	if size > MaxCompressedBytes {
		return Encoded{}, fmt.Errorf("%w: %d KiB compressed, more than %d", ErrTooLarge, size>>10, MaxCompressedBytes>>10)
	}
	return packed, nil
}

// compress uses a header without time, name or system, so that equal documents give equal bytes.
func compress(document []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(document) // a bytes.Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// Read returns the document that Pack laid out under key, read in bounded memory and of a version that this release
// knows. Its errors wrap ErrNoDocument, ErrMalformed, ErrUnsupportedVersion or ErrTooLarge.
func Read(key string, data map[string]string, binaryData map[string][]byte) (jsontree.Node, error) {
	raw, err := unpack(key, data, binaryData)
	if err != nil {
		return jsontree.Node{}, err
	}
	const wrapping = 3 // a document, its list of tools, and an entry around what was a tool of its own
	parser := jsontree.Parser{Room: wrapping}
	root, _, err := parser.Parse(raw)
	if err != nil {
		return jsontree.Node{}, fmt.Errorf("%w: %s: %w", ErrMalformed, key, err)
	}
	var r jsontree.Reader
	version := r.Int(&root, "schemaVersion")
	if r.Bad {
		return jsontree.Node{}, fmt.Errorf("%w: %s has no schemaVersion", ErrMalformed, key)
	}
	if !readable(version, SchemaVersion) {
		return jsontree.Node{}, fmt.Errorf("%w %d of %s, this release reads %d", ErrUnsupportedVersion, version, key,
			SchemaVersion)
	}
	return root, nil
}

// unpack returns the bytes that Pack laid out under key.
func unpack(key string, data map[string]string, binaryData map[string][]byte) ([]byte, error) {
	if document, ok := data[key]; ok {
		return []byte(document), nil
	}
	compressed, ok := binaryData[key+gzipSuffix]
	if !ok {
		return nil, fmt.Errorf("%w under %s or %s", ErrNoDocument, key, key+gzipSuffix)
	}
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, key+gzipSuffix, err)
	}
	document, err := io.ReadAll(io.LimitReader(r, MaxDocumentBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, key+gzipSuffix, err)
	}
	if len(document) > MaxDocumentBytes {
		return nil, fmt.Errorf("%w: %s holds more than %d MiB", ErrTooLarge, key+gzipSuffix, MaxDocumentBytes>>20)
	}
	return document, nil
}

// readable reports whether a release that writes version current reads version: its own and the one before. Versions
// start at 1.
func readable(version, current int) bool {
	return version >= 1 && (version == current || version == current-1)
}
