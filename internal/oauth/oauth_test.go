package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/oauth"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/test/mcpfake/netfault"
	"github.com/mooring-dev/mooring/test/oauthserver"
	"github.com/mooring-dev/mooring/test/pace"
)

// What must never be seen in an error.
const canary, clientSecret = "CANARY-b1946ac9", "s3cret & CANARY-591785b7"

func policy(t *testing.T, options egress.Options) *egress.Policy {
	t.Helper()
	p, err := egress.NewPolicy(options)
	if err != nil {
		t.Fatal(err)
	}
	return p.ForNamespace("agents")
}

func config(t *testing.T, server *oauthserver.Server) oauth.Config {
	t.Helper()
	return oauth.Config{
		Namespace: "agents", TokenURL: server.TokenURL(), ClientID: secret.New(oauthserver.ClientID),
		ClientSecret: secret.New(clientSecret), Scopes: []string{"tools:read", "tools:call"},
		Audience: "https://mcp.example.com", CABundle: server.CAPEM(), UserAgent: "mooring/1.2.3",
		Egress: policy(t, egress.Options{AllowLoopback: true}),
	}
}

func source(t *testing.T, cfg oauth.Config) *oauth.Source {
	t.Helper()
	s, err := oauth.NewSources().For(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func token(t *testing.T, s *oauth.Source) string {
	t.Helper()
	got, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got.Reveal()
}

// refused is the failure of a token that cannot be had. Nothing of it, however it is printed, holds a canary.
func refused(t *testing.T, s *oauth.Source) failure.Failure {
	t.Helper()
	_, err := s.Token(t.Context())
	f := new(failure.Error)
	if !errors.As(err, &f) || f.Reason != failure.TokenAcquisitionFailed || f.Sent || f.Cause != nil {
		t.Fatalf("error %#v", err)
	}
	said := fmt.Sprintf("%s %v %+v %#v %s", err, f.Failure, f, f, failure.Message(f.Failure, "https://mcp.example.com/"))
	if strings.Contains(said, "CANARY") {
		t.Errorf("a canary is told: %s", said)
	}
	return f.Failure
}

func TestTokenOfARealServer(t *testing.T) {
	server := oauthserver.New(t, clientSecret)
	s := source(t, config(t, server))
	got := token(t, s)
	if !server.Good(got) || token(t, s) != got || server.Minted() != 1 {
		t.Errorf("token %q, %d minted", got, server.Minted())
	}
	r := server.Requests()[0]
	want := url.Values{
		"grant_type": {"client_credentials"}, "scope": {"tools:read tools:call"}, "audience": {"https://mcp.example.com"},
	}
	if !r.Basic || r.Form.Encode() != want.Encode() {
		t.Errorf("basic %v, form %v", r.Basic, r.Form)
	}
	if r.Header.Get("User-Agent") != "mooring/1.2.3" || r.Header.Get("Accept") != "application/json" {
		t.Errorf("header %v", r.Header)
	}
}

func TestTwentyCallersOfARealServer(t *testing.T) {
	server := oauthserver.New(t, clientSecret)
	s := source(t, config(t, server))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, err := s.Token(t.Context()); err != nil || !server.Good(got.Reveal()) {
				t.Errorf("token %q, error %v", got.Reveal(), err)
			}
		})
	}
	wg.Wait()
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestRevokedTokenOfARealServerIsReplaced(t *testing.T) {
	server := oauthserver.New(t, clientSecret)
	s := source(t, config(t, server))
	first := token(t, s)
	server.Revoke()
	second, err := s.Renew(t.Context(), secret.New(first))
	if err != nil || !server.Good(second.Reveal()) || token(t, s) != second.Reveal() {
		t.Errorf("token %q, error %v", second.Reveal(), err)
	}
}

// Some servers know the credential in the body only. What has worked is remembered.
func TestCredentialInTheBodyWhereBasicIsRefused(t *testing.T) {
	for _, answer := range []struct {
		status int
		body   string
	}{
		{http.StatusUnauthorized, `{"error":"invalid_client"}`}, {http.StatusBadRequest, `{"error":"invalid_request"}`},
		{http.StatusForbidden, ""}, {http.StatusOK, `{"error":"invalid_client"}`},
	} {
		server := oauthserver.New(t, clientSecret)
		server.Intercept(func(w http.ResponseWriter, r *http.Request, provider http.Handler) {
			if _, _, basic := r.BasicAuth(); !basic {
				provider.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(answer.status)
			_, _ = io.WriteString(w, answer.body)
		})
		s := source(t, config(t, server))
		first := token(t, s)
		if _, err := s.Renew(t.Context(), secret.New(first)); err != nil {
			t.Error(err)
		}
		var basic []bool
		for _, r := range server.Requests() {
			basic = append(basic, r.Basic)
		}
		if fmt.Sprint(basic) != "[true false false]" {
			t.Errorf("%d: basic %v", answer.status, basic)
		}
	}
}

// Of two refusals the one that speaks of the client counts, and one that may pass before both.
func TestWhichOfTwoRefusalsCounts(t *testing.T) {
	const client, request = `{"error":"invalid_client"}`, `{"error":"invalid_request"}`
	for name, c := range map[string]struct {
		inHeader, inBody answer
		class            failure.Class
		status           int
		detail           string
	}{
		"client first":    {answer{401, client}, answer{400, request}, failure.Auth, 401, "invalid_client"},
		"client second":   {answer{400, request}, answer{401, client}, failure.Auth, 401, "invalid_client"},
		"both of neither": {answer{400, request}, answer{403, ""}, failure.Auth, 400, "invalid_request"},
		"second is down":  {answer{401, client}, answer{503, ""}, failure.Server, 503, ""},
	} {
		server := oauthserver.New(t, clientSecret)
		server.Intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			if _, _, basic := r.BasicAuth(); basic {
				c.inHeader.give(w)
				return
			}
			c.inBody.give(w)
		})
		f := refused(t, source(t, config(t, server)))
		if f.Class != c.class || f.HTTPStatus != c.status || f.Detail != c.detail {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

type answer struct {
	status int
	body   string
}

func (a answer) give(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func TestRotationOfTheClientSecret(t *testing.T) {
	server := oauthserver.New(t, "another")
	sources, cfg := oauth.NewSources(), config(t, server)
	old, err := sources.For(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := refused(t, old)
	if f.Class != failure.Auth || f.HTTPStatus != 401 || f.Detail != "invalid_client" || len(server.Requests()) != 2 {
		t.Errorf("%d requests, failure %+v", len(server.Requests()), f)
	}
	cfg.ClientSecret = secret.New("another")
	corrected, err := sources.For(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !server.Good(token(t, corrected)) {
		t.Error("no good token with the corrected secret")
	}
}

func TestTokenServerThatIsDownAndComesBack(t *testing.T) {
	server := oauthserver.New(t, clientSecret)
	s := source(t, config(t, server))
	if err := server.Refuse(); err != nil {
		t.Fatal(err)
	}
	f := refused(t, s)
	if f.Class != failure.Transport || f.Detail != "connection to the token server failed" || f.HTTPStatus != 0 {
		t.Errorf("failure %+v", f)
	}
	if err := server.Restore(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), pace.Patience)
	defer cancel()
	for {
		got, err := s.Token(ctx)
		if err == nil {
			if !server.Good(got.Reveal()) {
				t.Error("the token is not good")
			}
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestAnswersThatAreNoToken(t *testing.T) {
	const (
		described = `{"error":"invalid_scope","error_description":"` + canary + `","error_uri":"https://` + canary + `"}`
		passing   = `{"error":"temporarily_unavailable"}`
		without   = "the token server's answer holds no token"
		unfit     = "the token server gave a token with characters that no token may have"
		foreign   = "the token server gave a token of another type than Bearer"
		large     = "the token server's answer is larger than 1 MiB"
	)
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	after := func(value string) http.Header { return http.Header{"Retry-After": {value}} }
	plain := func(class failure.Class, status int, detail string) failure.Failure {
		return failure.Failure{Class: class, HTTPStatus: status, Detail: detail}
	}
	told := func(status int, wait time.Duration, detail string) failure.Failure {
		f := plain(failure.RateLimit, status, detail)
		f.RetryAfter, f.RetryAfterGiven = wait, true
		return f
	}
	for name, c := range map[string]struct {
		answer
		header http.Header
		want   failure.Failure
	}{
		"described":            {answer{400, described}, nil, plain(failure.Auth, 400, "invalid_scope")},
		"unknown code":         {answer{400, `{"error":"` + canary + `"}`}, nil, plain(failure.Auth, 400, "")},
		"plain text":           {answer{401, canary}, nil, plain(failure.Auth, 401, "")},
		"form":                 {answer{400, "error=invalid_grant"}, form, plain(failure.Auth, 400, "invalid_grant")},
		"broken form":          {answer{400, "%zz" + canary}, form, plain(failure.Auth, 400, "")},
		"forbidden":            {answer{403, canary}, nil, plain(failure.Auth, 403, "")},
		"not found":            {answer{404, canary}, nil, plain(failure.Auth, 404, "")},
		"error with 200":       {answer{200, described}, nil, plain(failure.Auth, 200, "invalid_scope")},
		"passing 400":          {answer{400, passing}, nil, plain(failure.Server, 400, "temporarily_unavailable")},
		"too slow":             {answer{408, canary}, nil, plain(failure.Timeout, 408, "")},
		"limited":              {answer{429, canary}, after("7"), told(429, 7*time.Second, "")},
		"limited without time": {answer{429, ""}, nil, plain(failure.RateLimit, 429, "")},
		"busy":                 {answer{503, described}, after("2"), told(503, 2*time.Second, "invalid_scope")},
		"down":                 {answer{503, canary}, nil, plain(failure.Server, 503, "")},
		"broken":               {answer{500, strings.Repeat(canary, 1<<14)}, nil, plain(failure.Server, 500, "")},
		"not JSON":             {answer{200, canary}, nil, plain(failure.Protocol, 0, without)},
		"no token":             {answer{200, `{"note":"` + canary + `"}`}, nil, plain(failure.Protocol, 0, without)},
		"control bytes": {answer{200, `{"access_token":"` + canary + `\r\nX: y"}`}, nil,
			plain(failure.Protocol, 0, unfit)},
		"another type": {answer{200, `{"access_token":"` + canary + `","token_type":"mac"}`}, nil,
			plain(failure.Protocol, 0, foreign)},
		"too large": {answer{200, `{"access_token":"` + strings.Repeat(canary, 1<<17) + `"}`}, nil,
			plain(failure.Protocol, 0, large)},
	} {
		t.Run(name, func(t *testing.T) {
			server := oauthserver.New(t, clientSecret)
			server.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("WWW-Authenticate", "Basic realm="+canary)
				maps.Copy(w.Header(), c.header)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			f := refused(t, source(t, config(t, server)))
			c.want.Reason = failure.TokenAcquisitionFailed
			if f != c.want {
				t.Errorf("failure %+v, wanted %+v", f, c.want)
			}
		})
	}
}

func TestAnswersThatDoNotCome(t *testing.T) {
	for name, c := range map[string]struct {
		give   http.HandlerFunc
		class  failure.Class
		status int
		detail string
	}{
		"cut before the headers": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			failure.Transport, 0, "the connection to the token server was lost"},
		"cut in the body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"access_token":"`+canary)
		}, failure.Transport, 0, "the connection to the token server was lost"},
		"refused and cut in the body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, canary)
		}, failure.Auth, 404, ""},
	} {
		server := oauthserver.New(t, clientSecret)
		server.Intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) { c.give(w, r) })
		f := refused(t, source(t, config(t, server)))
		if f.Class != c.class || f.HTTPStatus != c.status || f.Detail != c.detail {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer other.Close()
	for _, status := range []int{302, 307, 308} {
		server := oauthserver.New(t, clientSecret)
		server.Intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, other.URL+"/"+canary, status)
		})
		f := refused(t, source(t, config(t, server)))
		if f.Class != failure.Protocol || f.HTTPStatus != status || !strings.Contains(f.Detail, "redirects") {
			t.Errorf("failure %+v", f)
		}
	}
}

func TestTokenServerWithAnAuthorityOfItsOwn(t *testing.T) {
	server := oauthserver.NewTLS(t, clientSecret)
	cfg := config(t, server)
	if !server.Good(token(t, source(t, cfg))) {
		t.Error("no good token")
	}
	cfg.CABundle = nil
	f := refused(t, source(t, cfg))
	const want = "the TLS identity of the token server could not be verified: issuer "
	if f.Class != failure.Protocol || !strings.HasPrefix(f.Detail, want) {
		t.Errorf("failure %+v", f)
	}
	plain := oauthserver.New(t, clientSecret)
	cfg.TokenURL = strings.Replace(plain.TokenURL(), "http:", "https:", 1)
	f = refused(t, source(t, cfg))
	if f.Class != failure.Protocol ||
		f.Detail != "the token server could not be asked: plain HTTP is spoken there, not HTTPS" {
		t.Errorf("failure %+v", f)
	}
}

func TestAddressThatIsNotAllowed(t *testing.T) {
	server := oauthserver.New(t, clientSecret)
	cfg := config(t, server)
	cfg.Egress = policy(t, egress.Options{})
	f := refused(t, source(t, cfg))
	const notAllowed = "the address of the token server is not allowed here: 127.0.0.1: "
	if f.Class != failure.Protocol || !strings.HasPrefix(f.Detail, notAllowed) {
		t.Errorf("failure %+v", f)
	}
	cfg.TokenURL = "https://id.invalid/token"
	f = refused(t, source(t, cfg))
	if f.Class != failure.Transport ||
		!strings.HasPrefix(f.Detail, "the host name of the token server could not be resolved: ") {
		t.Errorf("failure %+v", f)
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestProxyOfTheEnvironment(t *testing.T) {
	server, proxy := oauthserver.New(t, clientSecret), netfault.NewProxy(t)
	t.Setenv("HTTP_PROXY", proxy.URL())
	t.Setenv("HTTPS_PROXY", strings.TrimPrefix(proxy.URL(), "http://"))
	t.Setenv("NO_PROXY", "")
	address := strings.TrimSuffix(strings.TrimPrefix(server.TokenURL(), "http://"), "/oauth/token")
	proxy.Route("id.agents.svc:80", address)
	cfg := config(t, server)
	cfg.Egress = policy(t, egress.Options{}) // the proxy's own address is not judged
	cfg.TokenURL = "http://id.agents.svc/oauth/token"
	if !server.Good(token(t, source(t, cfg))) {
		t.Error("no good token through the proxy")
	}
	cfg.TokenURL = "http://id.other.svc/oauth/token"
	if f := refused(t, source(t, cfg)); !strings.Contains(f.Detail, "not allowed here: id.other.svc") {
		t.Errorf("another namespace's Service: %+v", f)
	}
	proxy.Deny(http.StatusForbidden)
	cfg.TokenURL = "https://id.example.com/oauth/token"
	f := refused(t, source(t, cfg))
	if f.Class != failure.Transport || f.Detail != "the proxy does not let the token server be reached" {
		t.Errorf("a proxy that denies: %+v", f)
	}
	if err := proxy.Listener().Refuse(); err != nil {
		t.Fatal(err)
	}
	f = refused(t, source(t, cfg))
	if f.Class != failure.Transport || f.Detail != "the proxy could not be reached" {
		t.Errorf("a proxy that is down: %+v", f)
	}
}
