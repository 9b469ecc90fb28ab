package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// packaged translates a package of the registry: the command that a client would run for it.
func packaged(b *binder, fields *object, kind string) error {
	if transport := fields.object("transport").text("type"); transport != "" && transport != kindStdio {
		return errors.New("it serves at a URL of its own once it runs; run it, and import that URL")
	}
	identifier := word(fields, "identifier", "name")
	if identifier == "" {
		return errors.New("it has no identifier")
	}
	p := &process{binder: b}
	for _, item := range environmentOf(fields) {
		variable := asked{binder: b, fields: item}
		if name, value, ok := variable.named("env"); ok {
			p.environment = append(p.environment, pair{name, value, variable.secret()})
		}
	}
	command, err := command(kind, identifier, fields.text("version"), word(fields, "runtimeHint", "runtime_hint"))
	if err != nil {
		return err
	}
	runtime := arguments(b, fields, "runtimeArguments", "runtime_arguments")
	p.words = p.assemble(command, runtime)
	p.words = append(p.words, arguments(b, fields, "packageArguments", "package_arguments")...)
	return p.translate()
}

func environmentOf(fields *object) []any {
	return append(fields.array("environmentVariables"), fields.array("environment_variables")...)
}

// command is what runs a package of a kind, with the place of its runtime's arguments before the last word.
func command(kind, identifier, version, hint string) ([]string, error) {
	versioned := identifier
	if version != "" && !strings.Contains(identifier[1:], "@") {
		versioned += "@" + version
	}
	switch kind {
	case "npm":
		if hint == "bunx" {
			return []string{hint, versioned}, nil
		}
		return []string{"npx", "-y", versioned}, nil
	case "pypi":
		return []string{"uvx", versioned}, nil
	case "nuget":
		return []string{"dnx", "--yes", versioned}, nil
	case "oci", "docker":
		image := identifier
		if last := image[strings.LastIndexByte(image, '/')+1:]; version != "" && !strings.ContainsAny(last, ":@") {
			image += ":" + version
		}
		return []string{"docker", "run", image}, nil
	case "mcpb":
		return nil, errors.New("it is a bundle for a desktop (mcpb), which has no image")
	default:
		return nil, fmt.Errorf("packages of %s are not known", credential.Show(kind))
	}
}

// assemble puts the runtime's arguments before the package, and tells a container its environment.
func (p *process) assemble(command []string, runtime []template) []template {
	var out []template
	last := len(command) - 1
	given := map[string]bool{}
	for _, word := range command[:last] {
		out = append(out, fixed(word))
		given[word] = true
	}
	for _, word := range runtime {
		if literal, ok := word.literal(); !ok || !given[literal] {
			out = append(out, word)
		}
	}
	if command[0] == "docker" {
		for _, variable := range p.environment {
			out = append(out, fixed("-e"), fixed(variable.name))
		}
	}
	out = append(out, fixed(command[last]))
	if command[0] == "dnx" {
		out = append(out, fixed("--"))
	}
	return out
}

// arguments are words of a command line: values by their place, and flags with their values.
func arguments(b *binder, fields *object, names ...string) []template {
	var out []template
	for _, name := range names {
		for i, item := range fields.array(name) {
			argument := asked{binder: b, fields: item}
			shown := fmt.Sprintf("%s[%d]", name, i)
			flag := argument.object().text("name")
			hint := word(argument.object(), "valueHint", "value_hint")
			if hint == "" {
				hint = "argument"
			}
			if flag != "" {
				hint = strings.TrimLeft(flag, "-")
			}
			value, ok := argument.value(hint, shown)
			if !ok {
				continue
			}
			if argument.secret() {
				value = argument.sealedParts(value, hint, shown, flag == "-e" || flag == "--env")
			}
			if flag != "" {
				out = append(out, fixed(flag))
			}
			out = append(out, value)
		}
	}
	return out
}
