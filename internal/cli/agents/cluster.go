package agents

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/presence"
	"github.com/mooring-dev/mooring/internal/cli/usage"
)

// Cluster is how a command finds its cluster and namespace.
type Cluster interface {
	// Register adds the flags that choose them.
	Register(flags *pflag.FlagSet)
	// Connect returns a client and the namespace to look into.
	Connect() (client.WithWatch, string, error)
}

// place is a named thing in a connected cluster.
type place struct {
	client.WithWatch
	cmd *cobra.Command
	client.ObjectKey
}

func find(cmd *cobra.Command, cluster Cluster, name string) (*place, error) {
	c, namespace, err := cluster.Connect()
	if err != nil {
		return nil, err
	}
	return &place{WithWatch: c, cmd: cmd, ObjectKey: client.ObjectKey{Namespace: namespace, Name: name}}, nil
}

// program is what Mooring's command line is called here.
func (p *place) program() string { return usage.Program(p.cmd) }

// view is how things are looked at now.
func (p *place) view(ctx context.Context) explain.View {
	now := time.Now()
	return explain.View{Now: now, Program: p.program(), Manager: presence.Look(ctx, p, now)}
}

// note tells on standard error when no manager runs, and what that means.
func (p *place) note(means string) {
	if note := p.view(p.cmd.Context()).Note(means); note != "" {
		_, _ = fmt.Fprintln(p.cmd.ErrOrStderr(), note)
	}
}

// server reads the MCPServer of the name; nil when there is none.
func (p *place) server() (*v1alpha1.MCPServer, error) {
	server := &v1alpha1.MCPServer{}
	err := p.Get(p.cmd.Context(), p.ObjectKey, server)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("mcpserver: %w", err)
	}
	return server, nil
}

// session reads the AgentSession of the name; nil when there is none.
func (p *place) session() (*v1alpha1.AgentSession, error) {
	session := &v1alpha1.AgentSession{}
	err := p.Get(p.cmd.Context(), p.ObjectKey, session)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("agentsession: %w", err)
	}
	return session, nil
}

// configMap reads the ConfigMap that status names.
func (p *place) configMap(name string) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{}
	if err := p.Get(p.cmd.Context(), client.ObjectKey{Namespace: p.Namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return object, nil
}
