package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/test/kstatustest"
)

// agent reads an agent session as it stands; whatever is read keeps the laws of kstatus.
func (w *world) agent(name string) *v1alpha1.AgentSession {
	w.t.Helper()
	session := &v1alpha1.AgentSession{}
	w.Expect(admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, session)).To(Succeed())
	kstatustest.Check(w.t, session)
	return session
}

// changeAgent edits an agent session.
func (w *world) changeAgent(name string, edit func(*v1alpha1.AgentSession)) {
	w.t.Helper()
	session := w.agent(name)
	before := session.DeepCopy()
	edit(session)
	w.Expect(admin.Patch(w.ctx, session, client.MergeFrom(before))).To(Succeed())
}

// sessionSays is "True Published" for a condition that speaks of the present generation, "" for any other.
func sessionSays(session *v1alpha1.AgentSession, condition string) string {
	found := meta.FindStatusCondition(session.Status.Conditions, condition)
	if found == nil || found.ObservedGeneration != session.Generation {
		return ""
	}
	return string(found.Status) + " " + found.Reason
}

// awaitAgent waits until Ready says what is wanted.
func (w *world) awaitAgent(name, wanted string) *v1alpha1.AgentSession {
	w.t.Helper()
	return w.awaitAgentCondition(name, v1alpha1.ConditionReady, wanted)
}

func (w *world) awaitAgentCondition(name, condition, wanted string) *v1alpha1.AgentSession {
	w.t.Helper()
	var session *v1alpha1.AgentSession
	w.Eventually(func() string {
		session = w.agent(name)
		return sessionSays(session, condition)
	}).Should(Equal(wanted), func() string { return describeAgent(w.agent(name)) })
	return session
}

// awaitServers waits until status says this of the servers, each as "name State tools".
func (w *world) awaitServers(name string, wanted ...string) *v1alpha1.AgentSession {
	w.t.Helper()
	var session *v1alpha1.AgentSession
	slices.Sort(wanted)
	w.Eventually(func() []string {
		session = w.agent(name)
		return serversOf(session)
	}).Should(Equal(wanted), func() string { return describeAgent(w.agent(name)) })
	return session
}

// serversOf is "name State tools" of each server; tools is "-" when there are none to tell of.
func serversOf(session *v1alpha1.AgentSession) []string {
	var out []string
	for _, entry := range session.Status.Servers {
		tools := "-"
		if entry.Tools != nil {
			tools = fmt.Sprint(*entry.Tools)
		}
		out = append(out, entry.Name+" "+entry.State+" "+tools)
	}
	return out
}

// verdict is what kstatus makes of the object.
func (w *world) verdict(name string) status.Status {
	w.t.Helper()
	return kstatustest.Check(w.t, w.agent(name))
}

// describeAgent prints what a person would look at.
func describeAgent(session *v1alpha1.AgentSession) string {
	var out strings.Builder
	for _, condition := range session.Status.Conditions {
		fmt.Fprintf(&out, "%s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	for _, entry := range session.Status.Servers {
		text, _ := json.Marshal(entry)
		fmt.Fprintf(&out, "%s\n", text)
	}
	return out.String()
}

// offered reads what an agent's pod mounts; ok is false while there is nothing.
func (w *world) offered(name string) (document sessioncatalog.Document, ok bool) {
	w.t.Helper()
	object := w.configMap(name + "-mcp-catalog")
	if object == nil {
		return sessioncatalog.Document{}, false
	}
	document, err := sessioncatalog.Decode(object.Data, object.BinaryData)
	w.Expect(err).NotTo(HaveOccurred())
	return document, true
}

// mustOffer waits for the ConfigMap and reads it.
func (w *world) mustOffer(name string) sessioncatalog.Document {
	w.t.Helper()
	var document sessioncatalog.Document
	w.Eventually(func() (ok bool) { document, ok = w.offered(name); return ok }).Should(BeTrue(),
		func() string { return describeAgent(w.agent(name)) })
	return document
}

// awaitOffer waits until an agent is offered exactly these tools, by exposed name.
func (w *world) awaitOffer(name string, wanted ...string) {
	w.t.Helper()
	slices.Sort(wanted)
	w.Eventually(func() []string {
		document, _ := w.offered(name)
		return exposed(document)
	}).Should(Equal(wanted), func() string { return describeAgent(w.agent(name)) })
}

// exposed are the exposed names of all tools, sorted.
func exposed(document sessioncatalog.Document) []string {
	var names []string
	for _, slice := range document.Servers {
		for _, tool := range slice.Tools {
			names = append(names, tool.Name)
		}
	}
	slices.Sort(names)
	return names
}

// errorsOf is "server Reason" for each error of a document.
func errorsOf(document sessioncatalog.Document) []string {
	var out []string
	for _, failed := range document.Errors {
		out = append(out, failed.Server.Name+" "+failed.Reason)
	}
	return out
}

// version is the ConfigMap's resourceVersion: it moves with every write.
func (w *world) version(configMap string) string {
	w.t.Helper()
	object := w.configMap(configMap)
	if object == nil {
		return ""
	}
	return object.ResourceVersion
}

// split takes a list apart that reads well in one line.
func split(list string) []string { return strings.Split(list, ", ") }
