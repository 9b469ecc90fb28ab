package reach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// ErrNotInstalled is what a cluster without the CRDs amounts to.
var ErrNotInstalled = errors.New("the CRDs of Mooring are not installed in this cluster; " +
	"run: kubectl apply -k config/crd (or config/default, with the manager)")

const (
	// patience is how long CRDs that were applied just now may take to be served. An API server that has peers holds a
	// new kind back for 5 s.
	patience = 10 * time.Second
	// interval is how often they are looked for meanwhile.
	interval = 250 * time.Millisecond
)

// Installed returns ErrNotInstalled when the cluster does not know our kinds.
func Installed(mapper meta.RESTMapper) error {
	for _, kind := range []string{"MCPServer", "AgentSession"} {
		_, err := mapper.RESTMapping(v1alpha1.GroupVersion.WithKind(kind).GroupKind(), v1alpha1.GroupVersion.Version)
		if meta.IsNoMatchError(err) {
			return ErrNotInstalled
		}
		if err != nil {
			return fmt.Errorf("the API server's kinds: %w", err)
		}
	}
	return nil
}

// AwaitInstalled returns as soon as the cluster knows our kinds, and ErrNotInstalled when it does not come to know them
// within 10 s. It tells when it waits.
func AwaitInstalled(ctx context.Context, config *rest.Config, tell func(format string, arguments ...any)) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		return fmt.Errorf("the API server's kinds: %w", err)
	}
	return await(ctx, func() error { return Installed(mapper) }, tell)
}

func await(ctx context.Context, look func() error, tell func(format string, arguments ...any)) error {
	var last error
	told := false
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(context.Context) (bool, error) {
		last = look()
		if !errors.Is(last, ErrNotInstalled) {
			return true, last
		}
		if !told {
			told = true
			tell("the CRDs of Mooring are not served yet; looking for them for %s", patience)
		}
		return false, nil
	})
	if ctx.Err() == nil && wait.Interrupted(err) {
		return last
	}
	return err
}
