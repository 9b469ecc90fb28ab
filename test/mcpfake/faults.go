package mcpfake

import (
	"net/http"
	"time"
)

// Headers are response headers of a fault.
type Headers map[string]string

// Status answers with a status, headers (nil: none) and a body, as text/plain unless the headers say otherwise.
func Status(code int, h Headers, body string) Fault {
	return func(x *Exchange) bool {
		x.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
		for k, v := range h {
			x.W.Header().Set(k, v)
		}
		x.W.WriteHeader(code)
		_, _ = x.W.Write([]byte(body))
		return true
	}
}

// RetryAfter answers with a status and Retry-After as given: seconds, a date, or nonsense.
func RetryAfter(code int, value string) Fault {
	return Status(code, Headers{"Retry-After": value}, http.StatusText(code))
}

// RetryAfterDate is RetryAfter with the HTTP date of a time; dates have whole seconds.
func RetryAfterDate(code int, t time.Time) Fault {
	return RetryAfter(code, t.UTC().Format(http.TimeFormat))
}

// ContentType answers 200 with a body of any type.
func ContentType(contentType, body string) Fault {
	return Status(http.StatusOK, Headers{"Content-Type": contentType}, body)
}

// HTML answers 200 with a web page, as a wrong URL behind a portal does.
func HTML() Fault {
	return ContentType("text/html; charset=utf-8", "<!doctype html><title>Sign in</title><p>Sign in")
}

// Accepted answers 202 without a body.
func Accepted() Fault { return Status(http.StatusAccepted, nil, "") }

// Redirect answers with a 3xx status and Location.
func Redirect(code int, location string) Fault {
	return Status(code, Headers{"Location": location}, http.StatusText(code))
}

// Custom runs f; f returns whether it answered.
func Custom(f func(w http.ResponseWriter, r *http.Request) bool) Fault {
	return func(x *Exchange) bool { return f(x.W, x.R) }
}

// Delay waits, then lets the next matching fault or the healthy server answer.
func Delay(d time.Duration) Fault {
	return func(x *Exchange) bool {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return false
		case <-x.R.Context().Done():
		case <-x.Server.ctx.Done():
		}
		return true
	}
}

// Hang says nothing, not even headers, until Release; then the next matching fault or the healthy server answers.
func Hang() Fault {
	return func(x *Exchange) bool { return !x.hold() }
}

// HangAfterHeaders sends 200 and the headers of a good answer, and nothing else until Release; then it is served.
func HangAfterHeaders() Fault {
	return func(x *Exchange) bool {
		if x.Request.Phase == Stream || x.Server.opt.encoding == SSE {
			x.W.Header().Set("Content-Type", "text/event-stream")
		} else {
			x.W.Header().Set("Content-Type", "application/json")
		}
		x.W.WriteHeader(http.StatusOK)
		x.flush()
		if x.hold() {
			x.Serve(nil)
		}
		return true
	}
}

// Reset closes the connection by RST without an answer.
func Reset() Fault {
	return func(x *Exchange) bool {
		x.drop(true)
		return true
	}
}

// CloseCleanly closes the connection by FIN without an answer.
func CloseCleanly() Fault {
	return func(x *Exchange) bool {
		x.drop(false)
		return true
	}
}

// ExecuteThen does what the request asks for, throws the answer away and lets then follow: the caller cannot know.
func ExecuteThen(then Fault) Fault {
	return func(x *Exchange) bool {
		x.shape.mute = true
		x.capture()
		x.shape.mute = false
		return then(x)
	}
}

// ExecuteThenReset counts the run and resets the connection.
func ExecuteThenReset() Fault { return ExecuteThen(Reset()) }

// LoseSessions forgets all sessions first, so that the request finds its own unknown.
func LoseSessions() Fault {
	return func(x *Exchange) bool {
		x.Server.LoseSessions()
		return false
	}
}

// RPC answers 200 with a JSON-RPC error, without doing anything; data is raw JSON or "".
func RPC(code int, message, data string) Fault {
	return RPCStatus(http.StatusOK, code, message, data)
}

// RPCStatus is RPC with an HTTP status.
func RPCStatus(status, code int, message, data string) Fault {
	return func(x *Exchange) bool {
		e := &RPCError{Code: code, Message: message, Data: []byte(data)}
		if data == "" {
			e.Data = nil
		}
		x.write(&Answer{ID: x.msg.ID, Error: e, Status: status})
		return true
	}
}
