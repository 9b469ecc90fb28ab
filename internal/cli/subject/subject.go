package subject

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/presence"
	"github.com/mooring-dev/mooring/internal/cli/usage"
	"github.com/mooring-dev/mooring/internal/cli/words"
)

// Cluster is how a command finds its cluster and namespace.
type Cluster interface {
	// Register adds the flags that choose them.
	Register(flags *pflag.FlagSet)
	// Connect returns a client and the namespace to look into.
	Connect() (client.WithWatch, string, error)
}

// Subject is what a command is about.
type Subject struct {
	client.WithWatch
	// ObjectKey is the name, and the namespace that it is looked for in. A command about many objects has no name.
	client.ObjectKey
	// Kind is the only kind that is meant; Any if there are several.
	Kind Kind
	// Cmd is the command.
	Cmd *cobra.Command
}

// Find connects, and makes the command about what the argument names, which is of one of these kinds. It does not look
// for it yet.
func Find(cmd *cobra.Command, cluster Cluster, argument string, kinds ...Kind) (*Subject, error) {
	kind, name, err := parse(argument, kinds)
	if err != nil {
		return nil, usage.Wrap(cmd, err)
	}
	c, namespace, err := cluster.Connect()
	if err != nil {
		return nil, err
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	return &Subject{WithWatch: c, ObjectKey: key, Kind: kind, Cmd: cmd}, nil
}

// Program is what Mooring's command line is called here.
func (s *Subject) Program() string { return usage.Program(s.Cmd) }

// View is how things are looked at now.
func (s *Subject) View(ctx context.Context) explain.View {
	now := time.Now()
	return explain.View{Now: now, Program: s.Program(), Manager: presence.Look(ctx, s, now)}
}

// Note tells on standard error when no manager runs, and what that means.
func (s *Subject) Note(means string) {
	if note := s.View(s.Cmd.Context()).Note(means); note != "" {
		_, _ = fmt.Fprintln(s.Cmd.ErrOrStderr(), note)
	}
}

// Server reads the MCPServer of the name; nil when there is none, or none is meant.
func (s *Subject) Server() (*v1alpha1.MCPServer, error) {
	if s.Kind == Session {
		return nil, nil //nolint:nilnil // none is an answer
	}
	server := &v1alpha1.MCPServer{}
	err := s.Get(s.Cmd.Context(), s.ObjectKey, server)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("mcpserver: %w", err)
	}
	return server, nil
}

// Session reads the AgentSession of the name; nil when there is none, or none is meant.
func (s *Subject) Session() (*v1alpha1.AgentSession, error) {
	if s.Kind == Server {
		return nil, nil //nolint:nilnil // none is an answer
	}
	session := &v1alpha1.AgentSession{}
	err := s.Get(s.Cmd.Context(), s.ObjectKey, session)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("agentsession: %w", err)
	}
	return session, nil
}

// None is the error that nothing of the name exists. It says where it was looked for, and what lists all there is.
func (s *Subject) None() error {
	var what, list string
	switch get := "`" + s.Program() + " get"; s.Kind {
	case Server:
		what, list = "MCPServer", get+" -A` lists"
	case Session:
		what, list = "AgentSession", get+" sessions -A` lists"
	default:
		what, list = "AgentSession or MCPServer", get+" sessions -A` and "+get+" servers -A` list"
	}
	return fmt.Errorf("no %s %q in namespace %q;%s %s all", what, s.Name, s.Namespace, s.suggestion(), list)
}

// suggestion asks whether a name that there is was meant; empty when none is near.
func (s *Subject) suggestion() string {
	near := words.Nearest(s.Name, append(s.names(Server, &v1alpha1.MCPServerList{}),
		s.names(Session, &v1alpha1.AgentSessionList{})...))
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" did you mean %s?", near)
}

// names are those of the namespace's objects of a kind, if it is meant. What cannot be listed is not suggested.
func (s *Subject) names(kind Kind, list client.ObjectList) (out []string) {
	if s.Kind != Any && s.Kind != kind || s.List(s.Cmd.Context(), list, client.InNamespace(s.Namespace)) != nil {
		return nil
	}
	_ = meta.EachListItem(list, func(object runtime.Object) error { // it returns what the function does
		out = append(out, object.(client.Object).GetName()) //nolint:forcetypeassert // a list of ours holds nothing else
		return nil
	})
	return out
}
