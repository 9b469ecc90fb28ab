package mcphttp

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/text"
)

// follow returns where a redirect leads, if it may be followed.
func follow(r *Request, resp *http.Response, from *url.URL, hop int) (*url.URL, error) {
	status := resp.StatusCode
	location := resp.Header.Get("Location")
	to, err := from.Parse(location)
	if location == "" || err != nil {
		return nil, redirectRefused(r.Phase, status, nil)
	}
	kept := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	if !kept || hop >= maxRedirects || !sameOrigin(from, to) || to.User != nil {
		return nil, redirectRefused(r.Phase, status, to)
	}
	to.Fragment = ""
	return to, nil
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) &&
		egress.Port(a) == egress.Port(b)
}

func redirectRefused(phase failure.Phase, status int, to *url.URL) error {
	detail := "without a usable target"
	if to != nil {
		detail = "to " + text.ASCII(to.Scheme+"://"+to.Host, 200)
	}
	refused := failure.BadAnswer(phase, failure.RedirectRefused, detail)
	refused.HTTPStatus, refused.Sent = status, status != 0
	return refused
}
