package mcphttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestOriginsAreSchemeHostAndPort(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://h/a", "HTTPS://H:443/b", true}, {"http://h", "http://h:80", true},
		{"http://[::1]:80", "http://[::1]", true},
		{"https://h", "http://h", false}, {"https://h", "https://h:8443", false}, {"https://h", "https://h.evil", false},
		{"http://h:443", "https://h:443", false},
	} {
		if got := sameOrigin(parse(t, c.a), parse(t, c.b)); got != c.same {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
	if got := egress.Port(parse(t, "socks5://p")); got != "1080" {
		t.Errorf("port = %s", got)
	}
}

func TestRedirectsThatLeadNowhere(t *testing.T) {
	from := parse(t, "https://h/mcp")
	for location, detail := range map[string]string{
		"": "without a usable target", "https://%zz": "without a usable target", "//evil\"test/": "to https://eviltest",
		"https://u:p@h/": "to https://h", "http://h/": "to http://h",
		"https://" + strings.Repeat("a", 400) + "/": "to https://",
	} {
		resp := &http.Response{StatusCode: 307, Header: http.Header{"Location": {location}}}
		_, err := follow(&Request{Phase: failure.Connect}, resp, from, 0)
		f := failure.Classify(err)
		if f.Reason != failure.RedirectRefused || !strings.HasPrefix(f.Detail, detail) || len(f.Detail) > 210 {
			t.Errorf("%q: %+v", location, f)
		}
	}
}

// A dial that is under way when the client closes comes to nothing.
func TestCloseEndsDials(t *testing.T) {
	dialling := make(chan struct{})
	c := New(Config{Endpoint: parse(t, "http://h/"), Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	done := make(chan error, 1)
	go func() {
		_, err := c.Do(context.Background(), Request{Method: http.MethodPost, Phase: failure.Call})
		done <- err
	}()
	<-dialling
	c.Close()
	if f := failure.Classify(<-done); f.Reason != failure.ConnectionLost || f.Sent {
		t.Errorf("failure = %+v", f)
	}
	ours, theirs := net.Pipe()
	defer theirs.Close()
	_ = c.sockets.adopt(ours) // one that arrives late
	if _, err := ours.Write([]byte("x")); err == nil {
		t.Error("a late connection was kept")
	}
}

func TestTheEndOfAContextHasAName(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if f := failure.Classify(Ended(ctx, failure.List, true, "d")); f.Class != failure.Timeout ||
		f.Reason != failure.ListToolsTimeout || !f.Sent || f.Detail != "d" {
		t.Errorf("failure = %+v", f)
	}
	why := errors.New("why")
	left, leave := context.WithCancelCause(context.Background())
	leave(why)
	var f *failure.Error
	if err := Ended(left, failure.Call, true, ""); !errors.Is(err, why) || errors.As(err, &f) {
		t.Errorf("error = %v", err)
	}
}

func TestARejectionTellsNothing(t *testing.T) {
	if (&Rejection{Body: []byte("CANARY")}).Error() != "rejected by an HTTP answer" || BodyOf(errors.New("x")) != nil {
		t.Error("a rejection tells its body")
	}
}
