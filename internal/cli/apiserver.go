package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/internal/egress"
)

// apiServerRefresh is how often the addresses behind the Service "kubernetes" are looked up again.
const apiServerRefresh = 5 * time.Minute

// apiServers are the addresses of the API server that configuration and environment tell.
func apiServers(host string) []string {
	var out []string
	if parsed, err := url.Parse(host); err == nil && parsed.Host != "" {
		port := cmp.Or(parsed.Port(), map[string]string{"http": "80"}[parsed.Scheme], "443")
		out = append(out, net.JoinHostPort(parsed.Hostname(), port))
	}
	if inCluster := os.Getenv("KUBERNETES_SERVICE_HOST"); inCluster != "" {
		out = append(out, net.JoinHostPort(inCluster, cmp.Or(os.Getenv("KUBERNETES_SERVICE_PORT"), "443")))
	}
	return out
}

// apiServerFollower keeps the egress policy's idea of where the API server is: what configuration and environment told,
// and the addresses behind the Service "kubernetes", which change when a control plane node is replaced.
type apiServerFollower struct {
	reader client.Reader
	known  []string
	set    func(hostports []string) error
	log    logr.Logger
}

// followAPIServer has the manager keep the policy's idea of where the API server is.
func followAPIServer(manager ctrl.Manager, config *rest.Config, policy *egress.Policy) error {
	follower := &apiServerFollower{
		reader: manager.GetAPIReader(), known: apiServers(config.Host), set: policy.SetAPIServers,
		log: ctrl.Log.WithName("egress"),
	}
	if err := manager.Add(follower); err != nil {
		return fmt.Errorf("egress: %w", err)
	}
	return nil
}

// NeedLeaderElection is false: who does not lead may dial as well.
func (*apiServerFollower) NeedLeaderElection() bool { return false }

// Start looks until the context ends. What cannot be read leaves the last addresses in force.
func (f *apiServerFollower) Start(ctx context.Context) error {
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if err := f.look(ctx); err != nil && ctx.Err() == nil {
			f.log.Info("addresses of the API server could not be read; the known ones stay", "error", err.Error())
		}
	}, apiServerRefresh, 0.2, true)
	return nil
}

func (f *apiServerFollower) look(ctx context.Context) error {
	slice := &discoveryv1.EndpointSlice{}
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}
	if err := f.reader.Get(ctx, key, slice); err != nil {
		return fmt.Errorf("endpoint slice: %w", err)
	}
	return f.set(append(endpointsOf(slice), f.known...))
}

// endpointsOf are the host:port pairs of a slice. A port without a number is any, which none of ours has.
func endpointsOf(slice *discoveryv1.EndpointSlice) []string {
	var out []string
	for _, endpoint := range slice.Endpoints {
		for _, address := range endpoint.Addresses {
			for _, port := range slice.Ports {
				if port.Port != nil {
					out = append(out, net.JoinHostPort(address, strconv.Itoa(int(*port.Port))))
				}
			}
		}
	}
	return out
}
