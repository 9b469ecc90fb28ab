package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// process is a server that runs as a command, under translation.
type process struct {
	*binder
	// words are the command and its arguments.
	words []template
	// shift is how many words of the file's args come before words[1].
	shift       int
	environment []pair
}

// mark is where a person must fill something in; the server is disabled until then.
const mark = "fill-in"

// runner is a command that gets a server from a package registry and runs it.
type runner struct {
	image string
	// needs are words: one of them must follow, or else the command runs something of the machine.
	needs []string
}

const (
	nodeImage = "node:22-slim"
	uvImage   = "ghcr.io/astral-sh/uv:python3.13-bookworm-slim"
	bunImage  = "oven/bun:1"
)

var runners = map[string]runner{
	"npx":  {image: nodeImage},
	"npm":  {image: nodeImage, needs: []string{"exec", "x"}},
	"uvx":  {image: uvImage},
	"uv":   {image: uvImage, needs: []string{"tool", "x"}},
	"bunx": {image: bunImage},
	"bun":  {image: bunImage, needs: []string{"x"}},
	"dnx":  {image: "mcr.microsoft.com/dotnet/sdk:10.0"},
}

var engines = []string{"docker", "podman", "nerdctl"}

const (
	mostWords    = 64
	mostWordText = 4096
	mostImage    = 1024
)

func (p *process) translate() error {
	const mostInAll = 256 // more is nobody's command line
	if p.unwrap(); len(p.words) > mostInAll {
		return fmt.Errorf("it has more than %d words", mostInAll)
	}
	p.spec.Stdio = &v1alpha1.StdioTransport{}
	name, _ := p.words[0].literal()
	base := program(name)
	runner, known := runners[base]
	switch {
	case slices.Contains(engines, base) && p.word(1) == "run":
		if err := p.container(p.words[2:]); err != nil {
			return err
		}
	case known && (runner.needs == nil || slices.Contains(runner.needs, p.word(1))):
		p.spec.Stdio.Image, p.spec.Stdio.Command = runner.image, []string{base}
		p.say("runs in image %s, which is assumed from %s; check it", runner.image, base)
		p.arguments(p.words[1:])
	default:
		p.foreign(name)
	}
	p.bindEnvironment()
	return p.fits()
}

// word is the literal text of a word, or "".
func (p *process) word(i int) string {
	if i >= len(p.words) {
		return ""
	}
	literal, _ := p.words[i].literal()
	return literal
}

// unwrap takes off the shell that Windows needs for scripts.
func (p *process) unwrap() {
	for len(p.words) > 2 && program(p.word(0)) == "cmd" && strings.EqualFold(p.word(1), "/c") {
		p.words, p.shift = p.words[2:], p.shift+2
	}
}

// program is the name of an executable without its folder and its ending.
func program(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		if len(name) > len(ending) && strings.EqualFold(name[len(name)-len(ending):], ending) {
			return name[:len(name)-len(ending)]
		}
	}
	return name
}

// foreign translates a command that is in no known image.
func (p *process) foreign(name string) {
	p.marks++
	p.spec.Stdio.Image = mark
	if name == "" || len(name) > mostWordText || !credential.Harmless(name) {
		p.spec.Stdio.Command = []string{mark}
		p.say("fill in spec.stdio.image and spec.stdio.command, and take spec.disabled away: " +
			"the program is on the machine of the author of the file")
	} else {
		p.spec.Stdio.Command = []string{name}
		p.say("fill in spec.stdio.image, one that holds %s and what its arguments name, and take spec.disabled away",
			credential.Show(program(name)))
	}
	p.arguments(p.words[1:])
}

var (
	machinePath = regexp.MustCompile(`^(?:file://|=?(?:/Users/|/home/|/root/|/opt/|/tmp/|~|\.{1,2}[/\\]|[A-Za-z]:[\\/]))`)
	// flagForm is a word that is a flag even where a value is awaited. Another with a - in front may be the value.
	flagForm = regexp.MustCompile(`^(?:-[A-Za-z]|--[A-Za-z][A-Za-z0-9-]*(?:=.*)?)$`)
)

// arguments translates the words behind the command.
func (p *process) arguments(words []template) {
	flag := ""
	for i, word := range words {
		at := spot{fmt.Sprintf("args[%d]", p.shift+i), "argument"}
		p.spec.Stdio.Args = append(p.spec.Stdio.Args, p.argument(word, flag, at))
		flag, _ = word.literal()
	}
}

// elsewhere says that a path is one of the machine that the file is from.
func (p *process) elsewhere(t template, at spot) {
	if literal, ok := t.literal(); ok && machinePath.MatchString(literal) {
		p.say("%s is a path on the machine of the author of the file; a pod has none of it", at.shown)
	}
}

// argument translates one word, which may be the value of the flag before it.
func (p *process) argument(word template, flag string, at spot) string {
	literal, isLiteral := word.literal()
	p.elsewhere(word, at)
	awaited := strings.HasPrefix(flag, "-") && !strings.Contains(flag, "=") &&
		(!isLiteral || !flagForm.MatchString(literal))
	switch {
	case awaited && (credential.Named(flag) || credential.Login(flag, word.gapped())):
		at.key = strings.TrimLeft(flag, "-")
		at.shown += " (" + credential.Show(flag) + ")"
		return p.inline(word, at, true)
	case awaited && isHeaderFlag(flag):
		return p.headerLine(word, at)
	}
	return p.assignment(word, at)
}

// assignment translates a word that may have its name in itself: --flag=value or NAME=value.
func (p *process) assignment(word template, at spot) string {
	before, after, found := word.cut("=")
	name, ok := before.literal()
	switch {
	case !found || !ok || !assigned.MatchString(name):
		return p.inline(word, at, false)
	case !credential.Harmless(name): // the credential itself, or its beginning: Base64 may end in =
		return p.inline(word, at, true)
	case isHeaderFlag(name) && !credential.Named(name):
		return name + "=" + p.headerLine(after, at)
	default:
		return p.named(name, "=", after, at, credential.Named(name) || credential.Login(name, after.gapped()))
	}
}

// isHeaderFlag tells whether a flag takes a header: a name, a colon and a value. --api-key-header takes a name alone.
func isHeaderFlag(flag string) bool {
	parts := credential.Words(flag)
	last := len(parts) - 1
	if !strings.HasPrefix(flag, "-") || last < 0 || parts[last] != "header" && parts[last] != "headers" {
		return flag == "-H"
	}
	return !credential.Named(strings.Join(parts[:last], "-"))
}

// headerLine translates a header in one word. A few programs have a = where others have the colon.
func (p *process) headerLine(word template, at spot) string {
	separator := ":"
	before, after, found := word.cut(separator)
	if name, _, ok := before.cut("="); ok {
		_, after, found = word.cut("=")
		separator, before = "=", name
	}
	name, ok := before.trim().literal()
	switch {
	case !ok:
		return p.inline(word, at, true)
	case !found || !headerName.MatchString(name):
		return p.inline(word, at, false)
	case !credential.Harmless(name): // the credential itself, or its beginning: Base64 may end in =
		return p.inline(word, at, true)
	default:
		return p.named(name, separator, after, at, credential.Header(name))
	}
}

// assigned is what may be before = in an argument: a flag or a variable.
var assigned = regexp.MustCompile(`^-{0,2}[A-Za-z_][A-Za-z0-9_.-]*$`)

// named translates a word that has a name and a value.
func (p *process) named(name, separator string, after template, at spot, sensitive bool) string {
	at.shown += " (" + credential.Show(name) + ")"
	at.key = strings.TrimLeft(name, "-")
	blanks := ""
	if len(after) > 0 && separator == ":" { // those before a header's value are no part of it
		first := after[0].plain
		blanks = first[:len(first)-len(strings.TrimLeft(first, " \t"))]
		after = after.trim()
	}
	return escape(name) + separator + blanks + p.inline(after, at, sensitive)
}

var (
	variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	imageForm    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)
)

func (p *process) bindEnvironment() {
	for _, v := range p.environment {
		at := spot{"env " + credential.Show(v.name), v.name}
		switch {
		case !variableForm.MatchString(v.name), credential.Random(v.name):
			p.say("an env is left out: its name is not valid")
			continue
		case len(p.spec.Stdio.Env) == mostWords:
			p.say("%s is left out: there may be %d", at.shown, mostWords)
			continue
		}
		p.elsewhere(v.value, at)
		bound := p.bind(v.value, at, v.secret || credential.Named(v.name))
		if len(bound.clear) > mostWordText {
			bound = value{from: p.whole(v.value, at)}
		}
		out := v1alpha1.EnvVar{Name: v.name, ValueFrom: bound.from}
		if bound.from == nil {
			out.Value = &bound.clear
		}
		p.spec.Stdio.Env = append(p.spec.Stdio.Env, out)
	}
}

// fits checks the API's bounds.
func (p *process) fits() error {
	if len(p.spec.Stdio.Args) > mostWords {
		return fmt.Errorf("it has more than %d arguments", mostWords)
	}
	for i, word := range p.spec.Stdio.Args {
		if len(word) > mostWordText {
			return fmt.Errorf("args[%d] has more than %d characters", p.shift+i, mostWordText)
		}
	}
	return nil
}

var words = credential.Set
