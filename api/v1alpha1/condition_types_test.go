package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// constant is one string constant of a package and what its comment says.
type constant struct {
	value, doc string
}

// constants reads the string constants of a Go file whose names match.
func constants(t *testing.T, file string, match func(name, typ string) bool) map[string]constant {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]constant{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		typ := ""
		if ident, ok := spec.Type.(*ast.Ident); ok {
			typ = ident.Name
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || !match(spec.Names[0].Name, typ) {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		found[spec.Names[0].Name] = constant{value: value, doc: spec.Doc.Text()}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s has no such constants", file)
	}
	return found
}

func prefixed(prefix string) func(name, typ string) bool {
	return func(name, _ string) bool { return strings.HasPrefix(name, prefix) }
}

// Every condition lists its reasons, every reason is listed by a condition, and a constant is named after its value.
func TestConditionsListTheirReasons(t *testing.T) {
	conditions := constants(t, "condition_types.go", prefixed("Condition"))
	reasons := constants(t, "condition_types.go", prefixed("Reason"))
	listed := map[string]bool{}
	for name, condition := range conditions {
		if name != "Condition"+condition.value {
			t.Errorf("%s has the value %q", name, condition.value)
		}
		if !strings.Contains(condition.doc, "True: ") {
			t.Errorf("%s does not say when it is True", name)
		}
		for _, reason := range regexp.MustCompile(`Reason[A-Z]\w*`).FindAllString(condition.doc, -1) {
			if _, ok := reasons[reason]; !ok {
				t.Errorf("%s lists %s, which does not exist", name, reason)
			}
			listed[reason] = true
		}
	}
	for name, reason := range reasons {
		if name != "Reason"+reason.value {
			t.Errorf("%s has the value %q", name, reason.value)
		}
		if !listed[name] {
			t.Errorf("no condition lists %s", name)
		}
		if reason.doc == "" {
			t.Errorf("%s does not say what it signals", name)
		}
	}
}

// Every reason that a failure can have is one that the condition Connected lists.
func TestConnectedListsTheReasonsOfFailures(t *testing.T) {
	failures := constants(t, "../../internal/failure/message.go", func(_, typ string) bool { return typ == "Reason" })
	connected := constants(t, "condition_types.go", prefixed("Condition"))["ConditionConnected"]
	for name, reason := range failures {
		if !regexp.MustCompile(`\bReason` + reason.value + `\b`).MatchString(connected.doc) {
			t.Errorf("failure.%s gives the reason %q, which ConditionConnected does not list", name, reason.value)
		}
	}
}
