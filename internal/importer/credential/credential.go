package credential

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

var (
	// told are credentials that stand behind what announces them, and webhook addresses, to which anyone who knows them
	// may post.
	told = regexp.MustCompile(`(?i)^(?:bearer|basic)\s+[^\s\x{FFFC}]|\bbearer\s+[^\s\x{FFFC}]{8,}|` +
		`\bbasic\s+[a-z0-9+/]{6,}=|-----BEGIN |` +
		`\bhooks\.slack\.com/(?:services|workflows|triggers)/\w|\bdiscord(?:app)?\.com/api/webhooks/\w|` +
		`\bwebhook\.office\.com/\w`)
	// AuthScheme is a scheme of RFC 9110 section 11.1 that is in use, with the blanks behind it.
	AuthScheme = regexp.MustCompile(`(?i)^(bearer|basic|digest|token|(?:api|access)[-_]?key|key|negotiate|ntlm|hmac|` +
		`aws4-hmac-sha256|hawk|oauth|jwt|dpop|gnap|privatetoken|geniekey|sso-key|ssws|klaviyo-api-key|pveapitoken|` +
		`splunk) +`)
	dense = regexp.MustCompile(`^[A-Za-z0-9+_=-]{32,}$`)
	run   = regexp.MustCompile(`[A-Za-z0-9+=]{12,}`)
	hexed = regexp.MustCompile(`^(?:[0-9a-f]{32,}|[0-9A-F]{32,})$`)
	// slashed is a key of a cloud, in Base 64, which has slashes.
	slashed = regexp.MustCompile(`^[A-Za-z0-9+][A-Za-z0-9/+]{39}$`)
	// padded is Base 64 with the = that fills it up.
	padded = regexp.MustCompile(`^(?:[A-Za-z0-9/+_-]{4}){5,}(?:[A-Za-z0-9/+_-]{2}==|[A-Za-z0-9/+_-]{3}=)$`)
	// wanting are texts that a document has in the place of a credential.
	wanting = regexp.MustCompile(`(?i)^(?:(?:bearer |token )?<[^<>]*>|\[[^\[\]":]*\]|\{[^{}":]*\}|` +
		`(?:bearer )?your[-_ ].*|` +
		`my[-_ ](?:api[-_ ])?(?:key|token|secret)|.*[-_ ]here|x{3,}|\.{3,}|…|\*{3,}|` +
		`(?:replace|change|insert|fill)[-_ ]?(?:me|this|in|with|your)(?:[-_ ].*)?|todo|tbd)$`)
	// filed are paths of files in which credentials are kept.
	filed = regexp.MustCompile(`(?i)^(?:/|~/|\.{1,2}/|[A-Z]:[\\/])[\w./\\ -]*` +
		`(?:\.(?:json|pem|key|p8|p12|pfx|crt|cer|pub|txt|ya?ml|env|ini|toml|jwk|kubeconfig)|\.ssh[\\/]\w+)$`)
)

// Looks tells whether a text is, or holds, a credential by its own look, be it percent-encoded or not. A text that is
// still encoded after several layers counts as one: nobody writes that by accident, and no more is looked into.
func Looks(text string) bool {
	const deepest = 8
	for range deepest {
		if holds(text) {
			return true
		}
		plain, err := url.PathUnescape(text)
		if err != nil || plain == text {
			return false
		}
		text = plain
	}
	return true
}

func holds(text string) bool {
	return marked(text) || told.MatchString(text) || UserInfo(text) || logsIn(text) || tells(text) || random(text)
}

// random tells whether a text, or a word of it, looks drawn at random. A segment of a URL is a word, too; one that is
// all hexadecimal is rather the name of a version.
func random(text string) bool {
	if hexed.MatchString(text) {
		return true
	}
	between := " \t\r\n\"',;"
	if strings.Contains(text, "://") {
		between += "/?&=#"
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(between, r) }) {
		if mixed(word) && (dense.MatchString(word) && run.MatchString(word) || slashed.MatchString(word) ||
			padded.MatchString(word)) {
			return true
		}
	}
	return false
}

// mixed tells whether there are digits and letters of both cases.
func mixed(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.ToLower(text) != text && strings.ToUpper(text) != text
}

// scattered is a word with digits in two places or more.
var scattered = regexp.MustCompile(`[A-Za-z]*[0-9]+[A-Za-z]+[0-9][A-Za-z0-9]*`)

// InProse tells whether a text that a person wrote for people may hold a credential: one that Looks like it, or a word
// such as nobody writes, whatever it is. Nothing is lost with a text that is not shown.
func InProse(text string) bool {
	const shortest = 8
	for _, word := range scattered.FindAllString(text, -1) {
		if len(word) >= shortest {
			return true
		}
	}
	return Looks(text)
}

// Wanting tells whether a text only stands where a credential is wanted.
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
	if clean == "" || Looks(name) {
		return "(not shown)"
	}
	return clean
}
