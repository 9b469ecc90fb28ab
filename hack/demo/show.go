package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mooring-dev/mooring/internal/text"
)

// sampleTools is how many tools the repository's own sample server has.
const sampleTools = 5

func (s *stage) apply(ctx context.Context, servers []server) error {
	fmt.Println("\n$ kubectl apply -f servers.yaml")
	out, err := s.kubectl(ctx, manifest(servers), "apply", "-f", "-")
	fmt.Print(out)
	return err
}

// await waits until every server is what it is to become.
func (s *stage) await(ctx context.Context, servers []server) error {
	for _, declared := range servers {
		if _, err := s.kubectl(ctx, "", "wait", "mcpserver/"+declared.name, "--timeout=90s",
			`--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=`+declared.reason); err != nil {
			return err
		}
	}
	return nil
}

// show prints what a user looks at.
func (s *stage) show(ctx context.Context, servers []server) error {
	for _, look := range [][]string{
		{"get", "mcpservers"},
		{"get", "mcpserver", "refusing", "-o",
			`jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}`},
	} {
		fmt.Println("\n$ kubectl " + shellLine(look))
		out, err := s.kubectl(ctx, "", look...)
		if err != nil {
			return err
		}
		fmt.Print(out)
	}
	if err := s.showCatalog(ctx, servers[0].name+"-mcp-tools"); err != nil {
		return err
	}
	return s.showCall(ctx, servers[0].name)
}

// agent is an AgentSession with every server of the namespace.
const agent = "apiVersion: mooring.dev/v1alpha1\nkind: AgentSession\nmetadata: {name: demo}\n"

// showCall has an agent call a tool through the gateway.
func (s *stage) showCall(ctx context.Context, server string) error {
	fmt.Println("\n$ kubectl apply -f agentsession.yaml")
	out, err := s.kubectl(ctx, agent, "apply", "-f", "-")
	fmt.Print(out)
	if err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "", "wait", "agentsession/demo", "--timeout=90s", "--for=condition=Ready"); err != nil {
		return err
	}
	call := []string{"call", "demo", "mcp_" + server + "_add", "--arg", "a=20", "--arg", "b=22"}
	fmt.Println("\n$ mooring " + shellLine(call))
	command := exec.CommandContext(ctx, filepath.Join(s.bin, "mooring"), call...)
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(s.state, "kubeconfig"))
	answer, err := command.CombinedOutput()
	fmt.Print(string(answer))
	if err != nil {
		return fmt.Errorf("call: %w", err)
	}
	if !strings.Contains(string(answer), "42") {
		return errors.New("call: the tool's answer is not there")
	}
	return nil
}

// showCatalog prints the beginning of a catalog.
func (s *stage) showCatalog(ctx context.Context, name string) error {
	fmt.Printf("\n$ kubectl get configmap %s -o jsonpath='{.data.catalog\\.json}'   # of it, the first two tools\n", name)
	tools, err := s.catalog(ctx, name)
	if err != nil {
		return err
	}
	for _, tool := range tools[:min(2, len(tools))] {
		var entry struct {
			Definition struct{ Name, Description string }
			Digest     string
		}
		if err := json.Unmarshal(tool, &entry); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("%-12s %-32s %.19s...\n", entry.Definition.Name, entry.Definition.Description, entry.Digest)
	}
	return nil
}

// shellLine is a command line as a person would type it.
func shellLine(arguments []string) string {
	out := make([]string, 0, len(arguments))
	for _, argument := range arguments {
		out = append(out, text.ShellWord(argument))
	}
	return strings.Join(out, " ")
}

// catalog reads the tools of a catalog ConfigMap.
func (s *stage) catalog(ctx context.Context, name string) ([]json.RawMessage, error) {
	out, err := s.kubectl(ctx, "", "get", "configmap", name, "-o", `jsonpath={.data.catalog\.json}`)
	if err != nil {
		return nil, err
	}
	var document struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return document.Tools, nil
}

// judge compares every server with what it was to become.
func (s *stage) judge(ctx context.Context, servers []server) error {
	var errs []error
	for _, declared := range servers {
		out, err := s.kubectl(ctx, "", "get", "mcpserver", declared.name, "-o",
			`jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].reason} `+
				`{.status.catalog.toolCount}`)
		if err != nil {
			return err
		}
		want := declared.ready + " " + declared.reason + " "
		if declared.tools > 0 {
			want += strconv.Itoa(declared.tools)
		}
		if out != want {
			errs = append(errs, fmt.Errorf("%s is %q, want %q", declared.name, out, want))
		}
	}
	tools, err := s.catalog(ctx, servers[0].name+"-mcp-tools")
	if err != nil {
		return err
	}
	if len(tools) != sampleTools {
		errs = append(errs, fmt.Errorf("catalog has %d tools, want %d", len(tools), sampleTools))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("\ndemo-check: %d servers are as they should be\n", len(servers))
	return nil
}

// goOn tells how to try more by hand, and waits for Ctrl-C where everything is to stay.
func (s *stage) goOn(ctx context.Context, o options) error {
	if !o.stay {
		target := "demo"
		if o.fleet {
			target = "demo-fleet"
		}
		fmt.Printf("\nTo keep it running and try by hand: make %s STAY=1\n", target)
		return nil
	}
	fmt.Printf(`
It keeps running. In another terminal:

  export KUBECONFIG=%[1]s PATH=%[2]s:$PATH
  kubectl get mcpservers -o wide
  kubectl describe mcpserver refusing
  mooring why refusing
`, filepath.Join(s.state, "kubeconfig"), s.bin)
	if !o.fleet {
		fmt.Printf(`
  # Break a credential, see what status says, and heal it:
  kubectl create secret generic demo --from-literal=token=wrong --dry-run=client -o yaml | kubectl apply -f -
  mooring why sample-secured
  kubectl create secret generic demo --from-literal=token=%s --dry-run=client -o yaml | kubectl apply -f -
  mooring get
`, demoToken)
	}
	fmt.Println("\nCtrl-C stops everything that was started.")
	<-ctx.Done()
	fmt.Println("\nstopping ...")
	return nil
}
