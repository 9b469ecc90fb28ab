package credential

import (
	"regexp"
	"strings"
)

// Gap is in a text in the place of a value that is not in it, such as that of a reference. It is no credential itself.
const Gap = '\uFFFC'

// filled is what a text holds without its gaps.
func filled(text string) string { return strings.ReplaceAll(text, string(Gap), "") }

// UserInfo tells whether a URL in the text has a credential before its host, be it written as RFC 3986 section 3.2.1
// has it or with a /, ? or # in its password that should have been escaped. Between the two readings of
// https://name:80/x@example.com it says yes; host:port/@scope/package@1.2 is none of them.
func UserInfo(text string) bool {
	for {
		before, rest, found := strings.Cut(text, "://")
		if !found {
			return false
		}
		if userInfo(schemeAtEnd.FindString(before), rest) {
			return true
		}
		text = rest
	}
}

var (
	schemeAtEnd = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*$`)
	web         = regexp.MustCompile(`(?i)(?:https?|wss?)$`)
	portForm    = regexp.MustCompile(`^[0-9]{0,5}\\*$`)
	// hostBehind is an @ with a host behind it, where a path or a query could have one, in the same word of a text; and
	// anywhere in a URL that is given as such.
	hostBehind  = regexp.MustCompile(`^[^\s"'<>]*` + atHost)
	hostInWhole = regexp.MustCompile(`(?s)` + atHost)
)

const atHost = `@(?:(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}|localhost|[0-9]+(?:\.[0-9]+){3}|\[[0-9A-Fa-f:]+\])` +
	`(?:[:/?#\s"'<>]|$)`

// Unescaped tells whether the path, the query or the fragment of a URL may be the rest of a password whose /, ?
// or # is not escaped; or whether an @ there only makes it look so.
func Unescaped(address string) bool {
	scheme, rest, found := strings.Cut(address, "://")
	authority, behind := cutAuthority(rest)
	if strings.Contains(authority, "@") {
		return strings.Contains(behind, "@")
	}
	return found && straddles(scheme, authority, behind, hostInWhole)
}

// cutAuthority cuts what is behind the scheme of a URL where RFC 3986 ends the authority.
func cutAuthority(rest string) (authority, behind string) {
	if end := strings.IndexAny(rest, "/?#\"'<>` \t\r\n"); end >= 0 {
		return rest[:end], rest[end:]
	}
	return rest, ""
}

// userInfo looks at what is behind the scheme of a URL.
func userInfo(scheme, rest string) bool {
	authority, behind := cutAuthority(rest)
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		name, password, both := strings.Cut(authority[:at], ":")
		// A name alone is a credential only to the web: https://TOKEN@host. The one of git over ssh is everybody's.
		if filled(password) != "" || web.MatchString(scheme) && filled(name) != "" && name != "git" {
			return true
		}
		if both && strings.Contains(behind, "@") && (!web.MatchString(scheme) || hostBehind.MatchString(behind)) {
			return true // the first @ begins the password
		}
		authority = authority[at+1:]
	}
	return straddles(scheme, authority, behind, hostBehind)
}

// straddles tells whether what looks like host:port is the beginning of user-info that ends with an @ behind it; on the
// web, where paths have an @, with a host behind that.
func straddles(scheme, authority, behind string, host *regexp.Regexp) bool {
	if strings.HasPrefix(authority, "[") {
		authority = authority[strings.IndexByte(authority, ']')+1:]
	}
	_, port, found := strings.Cut(authority, ":")
	switch {
	case !found || !strings.Contains(behind, "@"):
		return false
	case !portForm.MatchString(filled(port)):
		return true // what looks like a port is the beginning of a password
	case !strings.ContainsAny(behind[:1], "/?#"):
		return false
	case web.MatchString(scheme):
		return host.MatchString(behind)
	default:
		return true
	}
}
