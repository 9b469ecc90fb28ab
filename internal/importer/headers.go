package importer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

var (
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	headerText = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
	// ownHeaders are set by the HTTP or MCP client itself, as the API has it. So is whatever begins with mcp-.
	ownHeaders = words("connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer " +
		"transfer-encoding upgrade expect host content-length content-type content-encoding accept accept-encoding " +
		"last-event-id")
)

const (
	mostHeaders    = 32
	mostHeaderText = 4096
	authorization  = "authorization"
)

// bindHeaders translates the headers. Of those whose names differ in case alone the last counts.
func (r *remote) bindHeaders() {
	for i, h := range r.headers {
		lower := strings.ToLower(h.name)
		same := func(other pair) bool { return strings.ToLower(other.name) == lower }
		shown := "header " + credential.Show(h.name)
		switch {
		case !headerName.MatchString(h.name), credential.Random(h.name):
			r.say("a header is left out: its name is not valid")
		case ownHeaders[lower], strings.HasPrefix(lower, "mcp-"):
			r.say("%s is left out: the HTTP or MCP client sets it itself", shown)
		case slices.ContainsFunc(r.headers[i+1:], same):
			r.say("%s occurs twice; the last one counts", shown)
		case len(r.spec.HTTP.Headers) == mostHeaders:
			r.say("%s is left out: there may be %d", shown, mostHeaders)
		case lower == authorization:
			r.authorize(h.value.trim(), h.name)
		default:
			r.header(h, spot{shown, h.name})
		}
	}
	r.authorizeBasic()
}

func (r *remote) header(h pair, at spot) {
	bound := r.bind(h.value.trim(), at, h.secret || credential.Header(h.name))
	switch {
	case bound.from != nil:
	case bound.clear == "":
		r.say("%s is left out: it is empty", at.shown)
		return
	case !headerText.MatchString(bound.clear), len(bound.clear) > mostHeaderText:
		r.say("%s is left out: its value is no printable ASCII of at most %d characters", at.shown, mostHeaderText)
		return
	}
	r.put(h.name, bound)
}

func (r *remote) put(name string, bound value) {
	r.spec.HTTP.Headers = append(r.spec.HTTP.Headers,
		v1alpha1.Header{Name: name, Value: bound.clear, ValueFrom: bound.from})
}

// authorize translates an Authorization header. A bearer token is what spec.http.auth is for; of another scheme with a
// variable the scheme may be in clear; anything else is one value from the Secret.
func (r *remote) authorize(t template, name string) {
	at := spot{"header Authorization", "authorization"}
	if known, ok := t.known(); ok && strings.TrimSpace(known) == "" {
		r.say("%s is left out: it is empty", at.shown)
		return
	}
	scheme, rest := t.scheme()
	if flat, ok := t.known(); ok && scheme == "" {
		scheme, rest = fixed(flat).scheme()
	}
	switch {
	case strings.EqualFold(scheme, "bearer"):
		at.key = "token"
		r.spec.HTTP.Auth = &v1alpha1.Auth{Bearer: r.whole(rest.trim(), at)}
	case scheme != "" && rest.single() != nil:
		r.put(name, value{clear: scheme + " " + r.variable(r.whole(rest, at))})
	default:
		r.put(name, value{from: r.whole(t, at)})
	}
}

// authorizeBasic sends the user-info of the URL, unless a header says otherwise.
func (r *remote) authorizeBasic() {
	if r.basic == "" {
		return
	}
	taken := r.spec.HTTP.Auth != nil || slices.ContainsFunc(r.spec.HTTP.Headers, func(h v1alpha1.Header) bool {
		return strings.ToLower(h.Name) == authorization
	})
	if taken {
		r.say("the user-info of url is left out: a header Authorization overrides it")
		return
	}
	if len(r.spec.HTTP.Headers) == mostHeaders {
		r.say("the user-info of url is left out: there may be %d headers", mostHeaders)
		return
	}
	r.say("the user-info of url is sent as a header, as HTTP clients do")
	at := spot{"the user-info of url", authorization}
	r.put("Authorization", value{from: r.keep(at.key, r.basic, at.shown)})
}
