package connect

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// variablePattern matches $(NAME), and $$(NAME), which stands for the literal text $(NAME).
var variablePattern = regexp.MustCompile(`\$?\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// withoutVariables puts a harmless letter in the place of every $(NAME), for judging the rest of a URL.
func withoutVariables(raw string) string { return variablePattern.ReplaceAllString(raw, "x") }

// expand replaces every $(NAME) in text by its escaped value. It returns an error that names the first variable
// that is not defined; nothing is ever run through a shell.
func expand(text string, variables map[string]string, escape func(string) string) (string, error) {
	var undefined string
	out := variablePattern.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		name := match[2 : len(match)-1]
		value, ok := variables[name]
		if !ok && undefined == "" {
			undefined = name
		}
		return escape(value)
	})
	if undefined != "" {
		return "", fmt.Errorf("variable $(%s) is not defined; add it to spec.variables", undefined)
	}
	return out, nil
}

// expandURL replaces variables in the path and the query of raw. Values are escaped for the place where they
// stand, so that no value can add a query key, a fragment or a host; a slash in a path value stays a slash.
func expandURL(raw string, variables map[string]string) (string, error) {
	head, query, hasQuery := strings.Cut(raw, "?")
	out, err := expand(head, variables, escapePath)
	if err != nil {
		return "", err
	}
	if hasQuery {
		expanded, err := expand(query, variables, url.QueryEscape)
		if err != nil {
			return "", err
		}
		out += "?" + expanded
	}
	return out, nil
}

// escapePath escapes each segment of a path value.
func escapePath(value string) string {
	segments := strings.Split(value, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}

// verbatim is the escape of places that take any text.
func verbatim(value string) string { return value }
