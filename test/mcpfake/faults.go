package mcpfake

import (
	"net/http"
)

// Headers are response headers of a fault.
type Headers map[string]string

// Status answers with a status, headers (nil: none) and a plain body.
func Status(code int, h Headers, body string) Fault {
	return func(x *Exchange) bool {
		for k, v := range h {
			x.W.Header().Set(k, v)
		}
		contentType := x.W.Header().Get("Content-Type")
		if contentType == "" {
			contentType = "text/plain; charset=utf-8"
		}
		x.raw(code, contentType, []byte(body))
		return true
	}
}

// Hang says nothing, not even headers, until Release; then the request is served.
func Hang() Fault {
	return func(x *Exchange) bool { return !x.hold() }
}

// Custom runs f; f returns whether it answered.
func Custom(f func(w http.ResponseWriter, r *http.Request) bool) Fault {
	return func(x *Exchange) bool { return f(x.W, x.R) }
}
