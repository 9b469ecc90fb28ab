package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestAPIServersOfConfigurationAndEnvironment(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "")
	g.Expect(apiServers("https://api.example.com")).To(Equal([]string{"api.example.com:443", "[fd00::1]:443"}))
	g.Expect(apiServers("http://127.0.0.1:8001/prefix")).To(HaveExactElements("127.0.0.1:8001", "[fd00::1]:443"))
}

func TestFollowerSetsTheAddressesOfTheService(t *testing.T) {
	g := NewWithT(t)
	slice := &discoveryv1.EndpointSlice{
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.4"}}, {Addresses: []string{"fd00::4"}}},
		Ports:     []discoveryv1.EndpointPort{{Port: ptr.To[int32](6443)}, {}},
	}
	slice.Namespace, slice.Name = "default", "kubernetes"
	var got []string
	follower := &apiServerFollower{
		reader: fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(slice).Build(),
		known:  []string{"api.example.com:443"},
		set:    func(hostports []string) error { got = hostports; return nil },
		log:    logr.Discard(),
	}
	g.Expect(follower.look(context.Background())).To(Succeed())
	g.Expect(got).To(Equal([]string{"10.0.0.4:6443", "[fd00::4]:6443", "api.example.com:443"}))
}

func TestFollowerKeepsWhatItKnewWhenItCannotRead(t *testing.T) {
	g := NewWithT(t)
	broken := interceptor.NewClient(fake.NewClientBuilder().WithScheme(newScheme()).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("down")
		},
	})
	follower := &apiServerFollower{reader: broken, set: func([]string) error { t.Error("set"); return nil }}
	g.Expect(follower.look(context.Background())).To(MatchError("endpoint slice: down"))
}
