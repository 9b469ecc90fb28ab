package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// target is a cluster, as a person chose it. What a client library says of an API server that does not answer is about
// its own work, such as the groups that it wanted; explain says it of the cluster. It names addresses, which a
// kubeconfig holds in clear, and no credential.
type target struct {
	// host is the API server's URL.
	host string
	// context is the context of the kubeconfig; empty where there is none.
	context string
	// choice tells that --context may choose another.
	choice bool
}

// String names the cluster in one line.
func (t target) String() string {
	if t.context == "" {
		return t.host
	}
	return fmt.Sprintf("context %s, %s", t.context, t.host)
}

// explain makes an error of a client a person's, where it is that the API server does not answer or does not accept who
// asks. Others pass, nil included.
func (t target) explain(err error) error {
	server, source := "the API server at "+t.host, "this process"
	if t.context != "" {
		server, source = fmt.Sprintf("%s of context %q", server, t.context), "the kubeconfig"
	}
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s does not accept the credentials of %s; are they still valid?%s", server, source, t.hint())
	}
	reason, down := unanswered(err)
	if reason == "" {
		return err
	}
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "proxyconnect" { // so net/http tells of a proxy
		server = "the proxy for " + server
	}
	hint := t.hint()
	if down {
		hint = "; is it running?" + hint
	} else if hint != "" {
		hint = ";" + hint
	}
	return fmt.Errorf("cannot reach %s (%s)%s", server, reason, hint)
}

func (t target) hint() string {
	if !t.choice {
		return ""
	}
	return " --context chooses another"
}

// unanswered is why a request had no answer, and whether the server may be down; empty for what is no such error.
func unanswered(err error) (reason string, down bool) {
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

// errNotInstalled is what a cluster without the CRDs amounts to.
var errNotInstalled = errors.New("the CRDs of Mooring are not installed in this cluster; " +
	"run: kubectl apply -k config/crd (or config/default, with the manager)")

const (
	// kindsPatience is how long CRDs that were applied just now may take to be served. An API server that has peers holds
	// a new kind back for 5 s.
	kindsPatience = 10 * time.Second
	// kindsInterval is how often they are looked for meanwhile.
	kindsInterval = 250 * time.Millisecond
)

// installed returns errNotInstalled when the cluster does not know our kinds.
func installed(mapper meta.RESTMapper) error {
	for _, kind := range []string{"MCPServer", "AgentSession"} {
		_, err := mapper.RESTMapping(v1alpha1.GroupVersion.WithKind(kind).GroupKind(), v1alpha1.GroupVersion.Version)
		if meta.IsNoMatchError(err) {
			return errNotInstalled
		}
		if err != nil {
			return fmt.Errorf("the API server's kinds: %w", err)
		}
	}
	return nil
}

// awaitInstalled returns as soon as the cluster knows our kinds, and errNotInstalled when it does not come to know them
// within 10 s. It tells when it waits.
func awaitInstalled(ctx context.Context, config *rest.Config, tell func(format string, arguments ...any)) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		return fmt.Errorf("the API server's kinds: %w", err)
	}
	return awaitKinds(ctx, func() error { return installed(mapper) }, tell)
}

func awaitKinds(ctx context.Context, look func() error, tell func(format string, arguments ...any)) error {
	var last error
	told := false
	err := wait.PollUntilContextTimeout(ctx, kindsInterval, kindsPatience, true, func(context.Context) (bool, error) {
		last = look()
		if !errors.Is(last, errNotInstalled) {
			return true, last
		}
		if !told {
			told = true
			tell("the CRDs of Mooring are not served yet; looking for them for %s", kindsPatience)
		}
		return false, nil
	})
	if ctx.Err() == nil && wait.Interrupted(err) {
		return last
	}
	return err
}
