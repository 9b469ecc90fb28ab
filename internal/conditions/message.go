package conditions

import "github.com/mooring-dev/mooring/internal/text"

// MaxMessage is the longest message, in bytes. The API allows 32768 characters; a person reads the first lines, and a
// fleet's status should stay small.
const MaxMessage = 1024

// Message returns s as it will stand in a condition: valid UTF-8, at most MaxMessage bytes, never cut within a
// character. A text that was cut ends in "…".
func Message(s string) string { return text.Fit(s, MaxMessage) }
