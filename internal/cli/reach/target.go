package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Target is a cluster, as a person chose it.
type Target struct {
	// Host is the API server's URL.
	Host string
	// Context is the context of the kubeconfig; empty where there is none.
	Context string
	// Choice tells that --context may choose another.
	Choice bool
}

// String names the cluster in one line.
func (t Target) String() string {
	if t.Context == "" {
		return t.Host
	}
	return fmt.Sprintf("context %s, %s", t.Context, t.Host)
}

// Explain makes an error of a client a person's, where it is that the API server does not answer or does not accept who
// asks. Others pass, nil included.
func (t Target) Explain(err error) error {
	server := "the API server at " + t.Host
	if t.Context != "" {
		server += fmt.Sprintf(" of context %q", t.Context)
	}
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s does not accept the credentials of %s; are they still valid?%s", server, t.source(), t.choice())
	}
	reason, down := cause(err)
	if reason == "" {
		return err
	}
	if proxied(err) {
		server = "the proxy for " + server
	}
	hint := t.choice()
	if down {
		hint = "; is it running?" + hint
	} else if hint != "" {
		hint = ";" + hint
	}
	return fmt.Errorf("cannot reach %s (%s)%s", server, reason, hint)
}

// source is where the credentials come from.
func (t Target) source() string {
	if t.Context == "" {
		return "this process"
	}
	return "the kubeconfig"
}

// proxied tells that a request did not come farther than to the proxy, as net/http tells it.
func proxied(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "proxyconnect"
}

func (t Target) choice() string {
	if !t.Choice {
		return ""
	}
	return " --context chooses another"
}

// cause is why a request had no answer, and whether the server may be down; empty for what is no such error.
func cause(err error) (reason string, down bool) {
	var request *url.Error
	var number syscall.Errno
	var name *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time", true
	case !errors.As(err, &request):
		return "", false
	case errors.As(request, &number):
		return number.Error(), true
	case errors.As(request, &name):
		return name.Err + ": " + name.Name, false
	case request.Timeout():
		return "no answer in time", true
	default:
		return request.Err.Error(), false
	}
}
