package cli

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/mooring-dev/mooring/config"
)

// installInto puts what `kubectl apply -k config/default` would, but for the Deployment, onto the control plane, and
// lets the manager read the Secrets of the namespace "default".
func installInto(ctx context.Context, admin *rest.Config) error {
	definitions, err := config.CRDs()
	if err != nil {
		return err
	}
	options := envtest.CRDInstallOptions{CRDs: definitions, MaxTime: time.Minute}
	if _, err := envtest.InstallCRDs(admin, options); err != nil {
		return fmt.Errorf("CRDs: %w", err)
	}
	objects, err := config.Access()
	if err != nil {
		return err
	}
	gateway, err := gatewayOfManager()
	if err != nil {
		return err
	}
	reader, err := config.SecretReader("default")
	if err != nil {
		return err
	}
	objects = append(append(objects, gateway...), reader)
	c, err := client.New(admin, client.Options{Scheme: newScheme()})
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	for _, object := range objects {
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
			client.FieldOwner("mooring-dev"), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// gatewayOfManager lets the manager do what the gateway must, because both are one process here.
func gatewayOfManager() ([]*unstructured.Unstructured, error) {
	objects, err := config.GatewayAccess()
	for _, object := range objects {
		if _, bound := object.Object["subjects"]; bound {
			object.Object["subjects"] = []any{map[string]any{
				"kind": "ServiceAccount", "name": config.ManagerServiceAccount, "namespace": config.Namespace,
			}}
		}
	}
	return objects, err
}
