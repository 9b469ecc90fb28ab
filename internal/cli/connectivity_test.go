package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// A cluster without the CRDs is told as such at once, with the command that mends it.
func TestClusterWithoutTheCRDs(t *testing.T) {
	g := NewWithT(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	g.Expect(installed(mapper)).To(MatchError(ContainSubstring("run: kubectl apply -k config/crd")))
	mapper.Add(v1alpha1.GroupVersion.WithKind("MCPServer"), meta.RESTScopeNamespace)
	g.Expect(installed(mapper)).To(MatchError(errNotInstalled), "one of the two kinds is not enough")
	mapper.Add(v1alpha1.GroupVersion.WithKind("AgentSession"), meta.RESTScopeNamespace)
	g.Expect(installed(mapper)).To(Succeed())
}

// CRDs that were applied just now are waited for, which is said once; those that nobody applied, not for long.
func TestKindsThatAreNotServedYet(t *testing.T) {
	errBroken := errors.New("broken")
	for name, test := range map[string]struct {
		last  error // what is seen after two looks
		takes time.Duration
	}{
		"established": {nil, 2 * kindsInterval},
		"missing":     {errNotInstalled, kindsPatience},
		"broken":      {errBroken, 2 * kindsInterval},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				var told []string
				looks, began := 0, time.Now()
				err := awaitKinds(t.Context(), func() error {
					if looks++; looks > 2 {
						return test.last
					}
					return errNotInstalled
				}, func(format string, arguments ...any) { told = append(told, fmt.Sprintf(format, arguments...)) })
				if test.last == nil {
					g.Expect(err).NotTo(HaveOccurred())
				} else {
					g.Expect(err).To(MatchError(test.last))
				}
				g.Expect(time.Since(began)).To(Equal(test.takes))
				g.Expect(told).To(Equal([]string{"the CRDs of Mooring are not served yet; looking for them for 10s"}))
			})
		})
	}
}

// Who interrupts the wait is not told that something is missing.
func TestWaitForKindsEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := awaitKinds(ctx, func() error { return errNotInstalled }, func(string, ...any) { cancel() })
	NewWithT(t).Expect(err).To(MatchError(context.Canceled))
}

// apiServer answers everything with this status; its address is that of a closed port when the status is 0.
func apiServer(t *testing.T, status int) *rest.Config {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	if status == 0 {
		server.Close()
	}
	return &rest.Config{Host: server.URL}
}

// behind is a configuration for an API server that is asked by way of this proxy.
func behind(proxy string) *rest.Config {
	return &rest.Config{Host: "http://192.0.2.1", Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }}
}

// What a person reads is about the cluster, not about what a library wanted of it.
func TestExplain(t *testing.T) {
	choice := target{context: "prod", choice: true}
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = log.New(io.Discard, "", 0) // that its certificate is refused is meant
	secured.StartTLS()
	t.Cleanup(secured.Close)
	for name, test := range map[string]struct {
		config *rest.Config
		target target
		want   string
	}{
		"refused": {apiServer(t, 0), choice, `cannot reach the API server at HOST of context "prod" (connection refused); ` +
			`is it running? --context chooses another`},
		"refused, in a pod": {apiServer(t, 0), target{},
			`cannot reach the API server at HOST (connection refused); is it running?`},
		"refused by the proxy": {behind(apiServer(t, 0).Host), choice, `cannot reach the proxy for the API server at HOST ` +
			`of context "prod" (connection refused); is it running? --context chooses another`},
		"silent": {&rest.Config{Host: "http://192.0.2.1", Timeout: time.Nanosecond}, target{context: "dev"},
			`cannot reach the API server at HOST of context "dev" (no answer in time); is it running?`},
		"authority": {&rest.Config{Host: secured.URL}, target{}, `cannot reach the API server at HOST (tls: failed to ` +
			`verify certificate: x509: certificate signed by unknown authority)`},
		"credentials": {apiServer(t, http.StatusUnauthorized), choice, `the API server at HOST of context "prod" does not ` +
			`accept the credentials of the kubeconfig; are they still valid? --context chooses another`},
		"credentials, in a pod": {apiServer(t, http.StatusUnauthorized), target{},
			`the API server at HOST does not accept the credentials of this process; are they still valid?`},
	} {
		t.Run(name, func(t *testing.T) {
			test.target.host = test.config.Host
			err := awaitInstalled(t.Context(), test.config, func(string, ...any) { t.Error("it does not wait") })
			want := strings.ReplaceAll(test.want, "HOST", test.config.Host)
			NewWithT(t).Expect(test.target.explain(err)).To(MatchError(want))
		})
	}
}

// No resolver is asked: what one answers depends on where the test runs.
func TestExplainUnknownHost(t *testing.T) {
	const host = "https://none.invalid"
	err := &url.Error{Op: "Get", URL: host, Err: &net.OpError{Op: "dial", Err: &net.DNSError{
		Err: "no such host", Name: "none.invalid", IsNotFound: true,
	}}}
	NewWithT(t).Expect(target{host: host, context: "prod", choice: true}.explain(err)).To(MatchError(
		`cannot reach the API server at https://none.invalid of context "prod" (no such host: none.invalid); ` +
			`--context chooses another`))
}

func TestExplainLeavesOthersAlone(t *testing.T) {
	g := NewWithT(t)
	g.Expect(target{}.explain(nil)).To(Succeed())
	g.Expect(target{}.explain(errNotInstalled)).To(BeIdenticalTo(errNotInstalled))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, apiServer(t, http.StatusOK).Host, nil)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = http.DefaultClient.Do(request)
	g.Expect(err).To(HaveOccurred())
	g.Expect(target{}.explain(err)).To(BeIdenticalTo(err), "it was interrupted")
}

func TestTargetInOneLine(t *testing.T) {
	g := NewWithT(t)
	g.Expect(target{host: "https://a:1", context: "prod"}.String()).To(Equal("context prod, https://a:1"))
	g.Expect(target{host: "https://a:1"}.String()).To(Equal("https://a:1"))
}
