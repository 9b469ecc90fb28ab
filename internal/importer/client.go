package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// client translates an entry of a client's file.
func (d *declaration) client(b *binder) error {
	e := &clientEntry{binder: b, fields: d.fields, scope: scope{inputs: d.inputs},
		httpOrSSE: clientOf(d.provider).httpOrSSE}
	if err := e.transport(); err != nil {
		return err
	}
	e.policy()
	e.rest()
	return nil
}

// clientEntry is an entry under translation.
type clientEntry struct {
	*binder
	scope     scope
	fields    *object
	httpOrSSE bool
	used      []string
}

// The fields that say how a server is reached.
const commandField = "command"

var urlFields = []string{"url", "serverUrl", "httpUrl"}

// take returns a field and remembers that it was looked at.
func (e *clientEntry) take(names ...string) any {
	var out any
	for _, name := range names {
		if member, ok := e.fields.lookup(name); ok {
			e.used = append(e.used, name)
			if out == nil {
				out = member
			}
		}
	}
	return out
}

// transport finds out how the server is reached: by a command or at a URL.
func (e *clientEntry) transport() error {
	kind, err := e.kind()
	if err != nil {
		return err
	}
	url, _ := e.take(urlFields...).(string)
	command, hasCommand := e.command()
	switch {
	case kind == kindStdio, kind == "" && hasCommand:
		if !hasCommand {
			return errors.New("it has no command")
		}
		if url != "" {
			e.say("url is ignored: the entry runs a command")
		}
		return e.run(command)
	case url == "":
		return errors.New("it has neither url nor command")
	}
	if hasCommand {
		e.say("command is ignored: the entry's type is remote")
	}
	r := &remote{binder: e.binder, url: e.scope.parse(url), protocol: e.protocol(kind)}
	for name, member := range e.headerFields() {
		if content, ok := scalar(member); ok {
			r.headers = append(r.headers, pair{name: name, value: e.scope.parse(content)})
		} else {
			e.say("header %s is left out: its value is no text", credential.Show(name))
		}
	}
	return r.translate()
}

func (e *clientEntry) headerFields() func(func(string, any) bool) {
	headers, _ := e.take("headers").(*object)
	return headers.all()
}

// The kinds of transport.
const (
	kindStdio = "stdio"
	kindHTTP  = "http"
	kindSSE   = "sse"
)

// kinds are all the words that clients have for a transport.
var kinds = map[string]string{
	"stdio": kindStdio, "local": kindStdio,
	"http": kindHTTP, "streamablehttp": kindHTTP, "httpstream": kindHTTP, "remote": "",
	"sse": kindSSE, "": "",
}

func (e *clientEntry) kind() (string, error) {
	if _, ok := e.fields.lookup("httpUrl"); ok {
		return kindHTTP, nil
	}
	word, _ := e.take("type", "transport", "transportType").(string)
	kind, ok := kinds[plainKind(word)]
	if !ok {
		return "", fmt.Errorf("its type %s is no transport of Mooring; those are stdio, http and sse", credential.Show(word))
	}
	return kind, nil
}

// plainKind takes off what clients differ in when they name a transport.
func plainKind(word string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(word))
}

// protocol is the API's word.
func (e *clientEntry) protocol(kind string) v1alpha1.HTTPProtocol {
	switch {
	case kind == kindSSE:
		return v1alpha1.ProtocolSSE
	case kind == kindHTTP && !e.httpOrSSE:
		return v1alpha1.ProtocolStreamableHTTP
	default:
		return ""
	}
}

// command is the command with its arguments. Some clients take them as one list, or as one line.
func (e *clientEntry) command() ([]string, bool) {
	var words []string
	switch member := e.take(commandField).(type) {
	case string:
		words = []string{member}
	case []any:
		words = e.texts(commandField, member)
	}
	given, _ := e.take("args").([]any)
	arguments := e.texts("args", given)
	if len(words) == 1 && len(arguments) == 0 && strings.Contains(strings.TrimSpace(words[0]), " ") &&
		runners[strings.Fields(words[0])[0]].image != "" && !strings.ContainsAny(words[0], `'"\|&;<>`) {
		e.say("command is one line; it is split at its blanks")
		words = strings.Fields(words[0])
	}
	if len(words) == 0 || strings.TrimSpace(words[0]) == "" {
		return nil, false
	}
	return append(words, arguments...), true
}

// texts are the scalars of a list.
func (e *clientEntry) texts(field string, list []any) []string {
	var out []string
	for i, item := range list {
		if content, ok := scalar(item); ok {
			out = append(out, content)
		} else {
			e.say("%s[%d] is left out: it is no text", field, i)
		}
	}
	return out
}

// run translates a command: one that only leads to a remote server, or a server of its own.
func (e *clientEntry) run(command []string) error {
	environment := e.environment()
	if arguments, ok := bridgeArguments(command); ok {
		return e.bridge(arguments, environment)
	}
	p := &process{binder: e.binder, environment: environment}
	for _, word := range command {
		p.words = append(p.words, e.scope.parse(word))
	}
	return p.translate()
}

func (e *clientEntry) environment() []pair {
	var out []pair
	fields, _ := e.take("env").(*object)
	for name, member := range fields.all() {
		if content, ok := scalar(member); ok {
			out = append(out, pair{name: name, value: e.scope.parse(content)})
		} else {
			e.say("env %s is left out: its value is no text", credential.Show(name))
		}
	}
	return out
}

// policy translates what is not the transport.
func (e *clientEntry) policy() {
	if disabled, ok := e.take("disabled").(bool); ok && disabled {
		e.spec.Disabled = true
	}
	if enabled, ok := e.take("enabled").(bool); ok && !enabled {
		e.spec.Disabled = true
	}
	notes, _ := e.take("description").(string)
	e.notes(notes)
	allow, _ := e.take("includeTools", "enabledTools", "tools").([]any)
	deny, _ := e.take("excludeTools", "disabledTools").([]any)
	e.filter(e.texts("tools", allow), e.texts("excluded tools", deny))
}

// filter keeps and withholds tools by globs of their raw names.
func (b *binder) filter(allow, deny []string) {
	clean := func(globs []string) (out []string) {
		const most, longest = 256, 256
		for _, glob := range globs {
			if glob != "" && len(glob) <= longest && len(out) < most && !slices.Contains(out, glob) {
				out = append(out, glob)
			}
		}
		return out
	}
	allow, deny = clean(allow), clean(deny)
	if slices.Contains(allow, "*") {
		allow = nil
	}
	if len(allow)+len(deny) == 0 {
		return
	}
	if b.spec.Tools == nil {
		b.spec.Tools = &v1alpha1.Tools{}
	}
	b.spec.Tools.Allow = append(b.spec.Tools.Allow, allow...)
	b.spec.Tools.Deny = append(b.spec.Tools.Deny, deny...)
}

// reasons say why known fields are not carried over.
var reasons = map[string]string{
	"cwd":            "a pod has its image's working directory",
	"envFile":        "the importer opens no other file; put its values into a Secret and refer to them from env",
	"alwaysAllow":    "whether a person is asked is up to the agent; see spec.tools for what is offered",
	"autoApprove":    "whether a person is asked is up to the agent; see spec.tools for what is offered",
	"trust":          "whether a person is asked is up to the agent; see spec.tools for what is offered",
	"timeout":        "clients differ in its unit and meaning; see spec.timeouts",
	"headersHelper":  "no command is run to make headers; see spec.http.auth",
	"oauth":          "nobody is there to sign in; see spec.http.auth for tokens and client credentials",
	"auth":           "nobody is there to sign in; see spec.http.auth for tokens and client credentials",
	"alwaysLoad":     "when tools are loaded is up to the agent",
	"sandbox":        "it is for the editor's machine; a pod is confined anyway",
	"sandboxEnabled": "it is for the editor's machine; a pod is confined anyway",
	"dev":            "it is for development in the editor",
}

// silent are fields without a meaning for the server.
var silent = []string{"name", "displayName", "gallery", "version", "icon", "iconPath", "$schema", "_comment"}

// rest says what is not carried over.
func (e *clientEntry) rest() {
	for key, member := range e.fields.all() {
		if slices.Contains(e.used, key) || slices.Contains(silent, key) || empty(member) {
			continue
		}
		if reason, known := reasons[key]; known {
			e.say("%s is not carried over: %s", key, reason)
		} else {
			e.say("%s is not carried over: the field is not known", credential.Show(key))
		}
	}
}

func empty(member any) bool {
	switch v := member.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case *object:
		return v.len() == 0
	default:
		return false
	}
}

// scalar is the text of a string, number or boolean.
func scalar(member any) (string, bool) {
	switch v := member.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	default:
		return "", false
	}
}
