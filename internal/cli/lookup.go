package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/cli/explain"
	"github.com/mooring-dev/mooring/internal/cli/lease"
)

// lookup is an object that a person has named for a command, in a cluster that is connected to.
type lookup struct {
	client.WithWatch
	// ObjectKey is the name, and the namespace that it is looked for in.
	client.ObjectKey
	// kinds are those that may be meant, in the order in which they are looked for.
	kinds []*kind
	cmd   *cobra.Command
}

// lookUp connects, and makes the command about what the argument names, which is of one of these kinds. It does not
// read it yet.
func lookUp(cmd *cobra.Command, in cluster, argument string, kinds ...*kind) (*lookup, error) {
	left, name, err := parseName(argument, kinds)
	if err != nil {
		return nil, wrongUse(cmd, err)
	}
	c, namespace, err := in.connect()
	if err != nil {
		return nil, err
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	return &lookup{WithWatch: c, ObjectKey: key, kinds: left, cmd: cmd}, nil
}

// find reads the object: of several kinds, the first that has one of the name.
func (l *lookup) find() (client.Object, error) {
	for _, kind := range l.kinds {
		object := kind.newObject()
		err := l.Get(l.cmd.Context(), l.ObjectKey, object)
		if err == nil {
			return object, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("%s: %w", strings.ToLower(kind.name), err)
		}
	}
	return nil, l.notFound()
}

// notFound is the error that nothing of the name exists. It says where it was looked for, and what lists all there is.
func (l *lookup) notFound() error {
	var names, lists, there []string
	for _, kind := range l.kinds {
		names = append(names, kind.name)
		lists = append(lists, fmt.Sprintf("`%s get %ss -A`", l.program(), kind.word))
		there = append(there, l.namesOf(kind)...)
	}
	suggestion := ""
	if near := nearest(l.Name, there); near != "" {
		suggestion = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return fmt.Errorf("no %s %q in namespace %q%s; list all with %s",
		strings.Join(names, " or "), l.Name, l.Namespace, suggestion, strings.Join(lists, " or "))
}

// namesOf are those of the namespace's objects of a kind. What cannot be listed is not suggested.
func (l *lookup) namesOf(kind *kind) (out []string) {
	list := kind.newList()
	if l.List(l.cmd.Context(), list, client.InNamespace(l.Namespace)) != nil {
		return nil
	}
	_ = meta.EachListItem(list, func(object runtime.Object) error { // it returns what the function does
		out = append(out, object.(client.Object).GetName()) //nolint:forcetypeassert // a list of ours holds nothing else
		return nil
	})
	return out
}

// configMap reads the ConfigMap that status names.
func (l *lookup) configMap(name string) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{}
	if err := l.Get(l.cmd.Context(), client.ObjectKey{Namespace: l.Namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return object, nil
}

// explain tells on standard output what status says of the object.
func (l *lookup) explain(ctx context.Context, object client.Object) error {
	view, text := viewOf(ctx, l.cmd, l), ""
	switch object := object.(type) {
	case *v1alpha1.MCPServer:
		text = explain.Server(object, view)
	case *v1alpha1.AgentSession:
		text = explain.Agent(object, view)
	}
	_, err := fmt.Fprint(l.cmd.OutOrStdout(), text)
	return err
}

// program is what Mooring's command line is called here.
func (l *lookup) program() string { return programName(l.cmd) }

// viewOf is how a command sees a cluster now.
func viewOf(ctx context.Context, cmd *cobra.Command, c client.Reader) explain.View {
	now := time.Now()
	return explain.View{Now: now, Program: programName(cmd), Manager: lease.Look(ctx, c, now)}
}

// noteManager tells on standard error when no manager runs, so that status is only what was last known.
func noteManager(cmd *cobra.Command, c client.Reader) {
	if note := viewOf(cmd.Context(), cmd, c).Note(); note != "" {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
}
