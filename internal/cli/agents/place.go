package agents

import (
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/internal/cli/subject"
)

// place is what a command is about, with what is published of it beside.
type place struct{ *subject.Subject }

func find(
	cmd *cobra.Command, cluster subject.Cluster, argument string, kinds ...subject.Kind,
) (place, error) {
	found, err := subject.Find(cmd, cluster, argument, kinds...)
	return place{found}, err
}

// configMap reads the ConfigMap that status names.
func (p place) configMap(name string) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{}
	if err := p.Get(p.Cmd.Context(), client.ObjectKey{Namespace: p.Namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return object, nil
}
