package credential

import (
	"net/url"
	"regexp"
	"strings"
)

var (
	// nameForm is a name with what sets it off from its value: as in a query, a connection string, JSON, a header.
	nameForm = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.%-]*)\\*["'\]]?\s*([:=])`)
	// flagForm is a flag of a command line with the word behind it, also in a list of words.
	flagForm = regexp.MustCompile(`(?:^|[\s"'])(--?[A-Za-z][A-Za-z0-9_-]*)[\s"',\\]+([^\s"',\\-][^\s"',\\]*)`)
	// listedForm is a name with a value beside it, as in {"name": "X-Api-Key", "value": "..."}.
	listedForm = regexp.MustCompile(`(?i)["'](?:name|key|header)\\*["']\s*:\s*\\*["']([^"'\\]+)\\*["']\s*,` +
		`\s*\\*["']value\\*["']\s*:`)
	// tag is that of a container's image, behind a name that a / precedes.
	tag        = regexp.MustCompile(`^(?:v?[0-9]{1,3}(?:\.[0-9]+)*(?:-[A-Za-z0-9.-]+)?|latest|stable|main|edge)$`)
	portBehind = regexp.MustCompile(`^[0-9]{1,5}(?:[/?#]|$)`)
	// granted are what the scopes of OAuth allow, as in token:read.
	granted = set("read write admin list create update delete manage * all")
)

// tells tells whether a text has a value behind a name that speaks of a credential.
func tells(text string) bool {
	for _, at := range nameForm.FindAllStringSubmatchIndex(text, -1) {
		if valued(text, at) && names(text[at[2]:at[3]], text[at[4]] == ':') {
			return true
		}
	}
	for _, match := range flagForm.FindAllStringSubmatch(text, -1) {
		if Named(match[1]) && filled(match[2]) != "" || Login(match[1], match[2]) {
			return true
		}
	}
	for _, match := range listedForm.FindAllStringSubmatch(text, -1) {
		if Header(match[1]) {
			return true
		}
	}
	return false
}

// names tells whether a name in a text speaks of a credential, which it may do percent-encoded. Before a colon it may
// be that of a header, if it can be nothing else.
func names(name string, colon bool) bool {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return Named(name) || colon && len(name) > 2 && strings.EqualFold(name[:2], "x-") && Header(name)
}

// valued tells whether a value stands behind a name. What is behind the : of a scheme, a host, an image and a scope is
// none.
func valued(text string, at []int) bool {
	rest := text[at[1]:]
	value := valueOf(rest)
	if Switch(value) {
		return false
	}
	if text[at[4]] == '=' {
		return true
	}
	before := text[strings.LastIndexAny(text[:at[2]], " \t\r\n\"'=,")+1 : at[2]]
	switch {
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(before, "arn:"), granted[value]:
		return false
	case strings.HasSuffix(before, "/") && tag.MatchString(rest):
		return false
	default:
		return !strings.HasSuffix(before, "//") || !portBehind.MatchString(rest)
	}
}

// opening is what may stand before a value: blanks, brackets of lists, and a quote, which may be escaped.
var opening = regexp.MustCompile(`^[\s\[{(]*(\\*["'])?`)

// valueOf is the value at the beginning of a text as far as it tells whether there is one, without its quotes, the name
// of a scheme and gaps.
func valueOf(rest string) string {
	open := opening.FindStringSubmatch(rest)
	value := rest[len(open[0]):]
	value = value[len(AuthScheme.FindString(value)):]
	if quote := open[1]; quote != "" {
		value, _, _ = strings.Cut(value, quote)
	} else {
		if end := strings.IndexAny(value, " \t\r\n\"';&,"); end >= 0 {
			value = value[:end]
		}
		value = strings.TrimRight(value, "]})")
	}
	return filled(value)
}
