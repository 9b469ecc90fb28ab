package credential

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

var (
	// allowed are the characters of a harmless text. Quotes, braces and escapes belong to texts with a structure.
	allowed = regexp.MustCompile(`^[\pL\pM0-9\x{FFFC} _.,/+*~@#=:;&?%$()\\\[\]-]*$`)
	// structured is what makes a text more than a value: escapes, flags, comma lists in brackets.
	structured = regexp.MustCompile(`%\S|[\s=]-{1,2}[A-Za-z]|(?:^|[^/])\[`)
	// alphanumeric finds the words of a text, and tame are those that a person would write.
	alphanumeric = regexp.MustCompile(`[\pL\pM0-9]+`)
	tame         = regexp.MustCompile(`^(?:[\pL\pM]{1,24}|[\pL\pM]{1,12}[0-9]{1,8}|[0-9]{1,8}\pL{0,3}|\pL[0-9]{1,2}\pL|` +
		`[A-Za-z]{3,12}[0-9][A-Z][a-z]{2,12}|[0-9]{1,5}x[0-9]{1,5})$`)
	hump    = regexp.MustCompile(`\p{Ll}\p{Lu}`)
	number  = regexp.MustCompile(`^[0-9.,:/ +-]{1,24}$`)
	uuid    = regexp.MustCompile(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	digits  = regexp.MustCompile(`^[0-9]+$`)
	digest  = regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
	path    = regexp.MustCompile(`^(?:/|~/|\.{1,2}/|[A-Za-z]:[\\/])[\pL0-9_./\\ @-]*$`)
	webhook = regexp.MustCompile(`hooks\.slack\.com/|discord(?:app)?\.com/api/webhooks/|webhook\.office\.com/`)
	// AuthScheme is a scheme of RFC 9110 section 11.1 that is in use, with the blanks behind it.
	AuthScheme = regexp.MustCompile(`(?i)^(bearer|basic|digest|token|(?:api|access)[-_]?key|key|negotiate|ntlm|hmac|` +
		`aws4-hmac-sha256|hawk|oauth|jwt|dpop|gnap|privatetoken|geniekey|sso-key|ssws|klaviyo-api-key|pveapitoken|` +
		`splunk) +`)
	// wanting are texts that a document has in the place of a credential.
	wanting = regexp.MustCompile(`(?i)^(?:(?:bearer |token )?<[^<>]*>|\[[^\[\]":]*\]|\{[^{}":]*\}|` +
		`(?:bearer )?your[-_ ].*|` +
		`my[-_ ](?:api[-_ ])?(?:key|token|secret)|.*[-_ ]here|x{3,}|\.{3,}|…|\*{3,}|` +
		`(?:replace|change|insert|fill)[-_ ]?(?:me|this|in|with|your)(?:[-_ ].*)?|todo|tbd)$`)
	// filed are paths of files in which credentials are kept.
	filed = regexp.MustCompile(`(?i)^(?:/|~/|\.{1,2}/|[A-Z]:[\\/])[\w./\\ -]*` +
		`(?:\.(?:json|pem|key|p8|p12|pfx|crt|cer|pub|txt|ya?ml|env|ini|toml|jwk|kubeconfig)|\.ssh[\\/]\w+)$`)
)

// marked are the forms of credentials that look like words and numbers: of access key ids, and of sk-, pk- and rk-.
var marked = regexp.MustCompile(`\b(?:(?:AKIA|ASIA)[A-Z0-9]{12,}|[spr]k[-_][A-Za-z_-]*[0-9]{8,})`)

// Harmless tells whether a value may be in clear under a name that is not that of a credential.
func Harmless(text string) bool {
	if Switch(text) || number.MatchString(text) || uuid.MatchString(text) {
		return true
	}
	text = digest.ReplaceAllString(text, "")
	isPath := path.MatchString(text) || strings.HasPrefix(text, "arn:")
	return allowed.MatchString(text) && !structured.MatchString(text) && tameWords(text, isPath) &&
		!recognised(text) && !UserInfo(text) && harmlessParts(text)
}

// recognised tells whether a text has a form that only credentials have.
func recognised(text string) bool {
	return AuthScheme.MatchString(text) || webhook.MatchString(text) || marked.MatchString(text)
}

// tameWords tells whether a person would write every word. Long numbers are none, but as a folder or an account.
func tameWords(text string, numbered bool) bool {
	for _, word := range alphanumeric.FindAllString(text, -1) {
		if numbered && digits.MatchString(word) {
			continue
		}
		if !tame.MatchString(word) || len(hump.FindAllString(word, 3)) > 2 {
			return false
		}
	}
	return true
}

// random are names with a word that nobody writes: long, of letters and digits.
var random = regexp.MustCompile(`[A-Za-z0-9]{16,}`)

// Random tells whether a name (of a server, a header, an image) may be a credential itself. Names are shown, so this
// asks for more than Harmless does.
func Random(name string) bool {
	if marked.MatchString(name) {
		return true
	}
	for _, word := range random.FindAllString(digest.ReplaceAllString(name, ""), -1) {
		if strings.ContainsAny(word, "0123456789") && !digits.MatchString(word) {
			return true
		}
	}
	return false
}

var (
	// spoken is a name with a value behind it, and quoted what only a program's text has.
	spoken = regexp.MustCompile(`([\pL0-9_-]+)["']?\s*[:=]`)
	quoted = regexp.MustCompile(`[={}]|["']\s*:|(?:^|\s)-{1,2}[A-Za-z]|[^\s/]:[^\s/0-9]|\S/\S+@|:\S*@`)
)

// InProse tells whether a text that a person wrote for people may hold a credential. Nothing is lost with a text that
// is not shown.
func InProse(text string) bool {
	for _, match := range spoken.FindAllStringSubmatch(text, -1) {
		if Header(match[1]) {
			return true
		}
	}
	return !tameWords(text, true) || quoted.MatchString(text)
}

// Wanting tells whether a text is a placeholder for a credential.
func Wanting(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || wanting.MatchString(text)
}

// Switch tells whether a value is no credential whatever its name: nothing, a switch, or a way to sign in.
func Switch(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1", "enabled", "disabled",
		"none", "null", "oauth", "oauth2", "oidc", "iam", "anonymous":
		return true
	default:
		return false
	}
}

// File tells whether a value is the path of a file with a credential, as GOOGLE_APPLICATION_CREDENTIALS is.
func File(value string) bool { return filed.MatchString(value) }

// Show makes a name of the file fit for a note: one line, printable, not too long. Names are shown, values never.
func Show(name string) string {
	const most = 64
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
	if runes := []rune(clean); len(runes) > most {
		clean = string(runes[:most]) + "..."
	}
	if clean == "" || Random(name) {
		return "(not shown)"
	}
	return clean
}

var (
	// nameForm is a name with what separates it from its value, as in a query, a connection string, a header.
	nameForm = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.-]*)\s*([:=])\s*`)
	// portOrTag is what may follow the name of a host or an image.
	portOrTag = regexp.MustCompile(`^(?:[0-9]{1,5}(?:[/?#,]|$)|v?[0-9]{1,3}(?:\.[0-9]+)*(?:-[A-Za-z0-9.-]+)?$|latest$)`)
	// grants are what the scopes of OAuth allow, as in token:read, and prefixes the words that may be before a colon.
	grants   = regexp.MustCompile(`^(?:read|write|admin|list|create|update|delete|manage|all)(?:[\s,]|$)`)
	prefixes = regexp.MustCompile(`^(?:(?:npm|jsr|github|gitlab|mailto|docker):|git@[A-Za-z0-9.-]+:)`)
	// login is what has a name and a password without a scheme in front: with a : before an @, or a host behind it.
	login = regexp.MustCompile(`:[^\s/]*[^\s]*@|/\S*@(?://|\S*:)`)
	// letterBehind is a colon with more than a number behind it.
	letterBehind = regexp.MustCompile(`:[^\s/0-9\x{FFFC}:]|:[0-9]+[A-Za-z]`)
)

// harmlessParts looks at names with values, and at what is around : and @, in each part between blanks.
func harmlessParts(text string) bool {
	for _, at := range nameForm.FindAllStringSubmatchIndex(text, -1) {
		if named(text, at) {
			return false
		}
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" ,;", r) }) {
		if strings.Contains(part, "://") || strings.HasPrefix(part, "arn:") || path.MatchString(part) {
			continue
		}
		part = part[len(prefixes.FindString(part)):]
		_, scope, _ := strings.Cut(part, ":")
		if login.MatchString(part) || letterBehind.MatchString(part) && !grants.MatchString(scope) &&
			!portOrTag.MatchString(scope) {
			return false
		}
	}
	return true
}

// extensionHeader tells whether the name is that of an X- header that carries a credential.
func extensionHeader(name string) bool {
	return len(name) >= 2 && strings.EqualFold(name[:2], "x-") && Header(name)
}

// named tells whether a name that speaks of a credential has a value behind it.
func named(text string, at []int) bool {
	name, colon, rest := text[at[2]:at[3]], text[at[4]] == ':', text[at[1]:]
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	if !Named(name) && (!colon || !extensionHeader(name)) {
		return false
	}
	value, _, _ := strings.Cut(strings.TrimLeft(rest, string(Gap)), "&")
	if Switch(strings.TrimRight(filled(value), " ;,")) {
		return false
	}
	before := text[strings.LastIndexAny(text[:at[2]], " ,=")+1 : at[2]]
	return !colon || !strings.HasPrefix(rest, "//") && !strings.HasPrefix(before, "arn:") && !grants.MatchString(rest) &&
		(!strings.HasSuffix(before, "/") || !portOrTag.MatchString(rest))
}

var (
	// loginLast are last words of flags that take a name, or a name and a password as curl does.
	loginLast = Set("u user username basic login userpwd")
	pairForm  = regexp.MustCompile(`(?s)^([^\s:/]+):(.+)$`)
	numbers   = regexp.MustCompile(`^[0-9]+:[0-9]+$`)
)

// Login tells whether the value of a flag is name:password, such as that of -u. The ids of a user and a group are none,
// and no URL is.
func Login(flag, value string) bool {
	parts := Words(flag)
	if !strings.HasPrefix(flag, "-") || len(parts) == 0 || !loginLast[parts[len(parts)-1]] || numbers.MatchString(value) {
		return false
	}
	match := pairForm.FindStringSubmatch(value)
	return match != nil && filled(match[2]) != "" && !strings.HasPrefix(match[2], "//") && !prefixes.MatchString(value)
}
