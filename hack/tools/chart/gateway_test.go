package chart

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

// The gateway is what config/gateway has, and the manager names it.
func TestGateway(t *testing.T) {
	rendered := render(t, "gateway: {enabled: true, tlsSecretName: mooring-gateway-tls}\nsecretNamespaces: [team-a]")
	for _, name := range []string{
		"ServiceAccount mooring-system/mooring-gateway", "ClusterRole mooring-gateway", "ClusterRoleBinding mooring-gateway",
		"RoleBinding default/mooring-gateway-api-server-reader", "RoleBinding team-a/mooring-gateway-secret-reader",
		"Service mooring-system/mooring-gateway",
	} {
		if rendered[name] == nil {
			t.Errorf("there is no %s among %q", name, rendered.names())
		}
	}
	gateway := typed[appsv1.Deployment](t, rendered["Deployment mooring-system/mooring-gateway"])
	if diff := gocmp.Diff([]string{
		"gateway", "--tls-cert-file=/etc/mooring/tls/tls.crt", "--tls-key-file=/etc/mooring/tls/tls.key",
	}, gateway.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Error(diff)
	}
	want := []string{"manager", "--gateway-url=https://mooring-gateway.mooring-system.svc"}
	if diff := gocmp.Diff(want, deployment(t, rendered).Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Error(diff)
	}
	plain := typed[appsv1.Deployment](t, render(t, "gateway: {enabled: true, allowedHosts: [mcp.example.com]}\n"+everything)["Deployment mooring-system/mooring-gateway"])
	args := plain.Spec.Template.Spec.Containers[0].Args
	for _, flag := range []string{"--insecure-http", "--allowed-hosts=mcp.example.com", "--drain-timeout=120s"} {
		if !slices.Contains(args, flag) {
			t.Errorf("%s is not in %q", flag, args)
		}
	}
}
