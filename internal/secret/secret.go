package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
)

const mark = "[secret]"

// Value is text that never prints. The zero Value is empty and stands for "no secret given".
type Value struct{ text string }

// New wraps text.
func New(text string) Value { return Value{text} }

// Reveal returns the text itself. Its result must go to the wire and nowhere else.
func (v Value) Reveal() string { return v.text }

// IsZero reports whether the value is empty.
func (v Value) IsZero() bool { return v.text == "" }

// String returns a fixed mark.
func (Value) String() string { return mark }

// Format writes a fixed mark for every verb and flag.
func (Value) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(mark)) }

// MarshalText gives a fixed mark to JSON, YAML and every other encoder of text.
func (Value) MarshalText() ([]byte, error) { return []byte(mark), nil }

// LogValue gives a fixed mark to structured logs.
func (Value) LogValue() slog.Value { return slog.StringValue(mark) }

// key makes fingerprints of one process useless to any other.
var key = func() []byte {
	k := make([]byte, sha256.Size)
	_, _ = rand.Read(k) // never fails: crypto/rand.Read ends the program instead
	return k
}()

// Fingerprint returns 16 hex characters that differ when the parts differ, for comparison within this process
// only: it is keyed with a random key, so it cannot be tested against guesses.
func Fingerprint(parts ...string) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		_, _ = fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(mac.Sum(nil)[:8])
}
