package credential

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

var (
	// issued are credentials that their issuers mark: code hosts, clouds, chats, models, package registries.
	issued = regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:gh[opusr]_[A-Za-z0-9]{8,}|github_pat_[A-Za-z0-9_]{8,}|` +
		`gl(?:pat|rt|dt|soat|cbt|ptt)-[A-Za-z0-9_-]{8,}|(?:sk|rk|pk)[-_][A-Za-z0-9_-]{8,}|xox[a-z]-[A-Za-z0-9%-]{8,}|` +
		`xapp-[A-Za-z0-9-]{8,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{8,}|` +
		`GOCSPX-[A-Za-z0-9_-]{8,}|npm_[A-Za-z0-9]{16,}|pypi-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{8,}|` +
		`lin_(?:api|oauth)_[A-Za-z0-9]{8,}|ntn_[A-Za-z0-9]{8,}|secret_[A-Za-z0-9]{32,}|fig[duo]_[A-Za-z0-9_-]{8,}|` +
		`SG\.[A-Za-z0-9_-]{8,}|shp(?:at|ca|pa|ss)_[A-Za-z0-9]{8,}|do[opr]_v1_[a-f0-9]{8,}|tvly-[A-Za-z0-9-]{8,}|` +
		`pplx-[A-Za-z0-9]{8,}|gsk_[A-Za-z0-9]{8,}|xai-[A-Za-z0-9]{16,}|r8_[A-Za-z0-9]{8,}|fc-[0-9a-f]{16,}|` +
		`sbp_[a-z0-9]{16,}|sb_(?:secret|publishable)_[A-Za-z0-9_-]{8,}|sntry[su]_[A-Za-z0-9_=+/-]{8,}|` +
		`gls?[ac]_[A-Za-z0-9_=+/-]{16,}|ATATT[A-Za-z0-9_=-]{8,}|whsec_[A-Za-z0-9+/]{8,}|dckr_[po]at_[A-Za-z0-9_-]{8,}|` +
		`hv[bs]\.[A-Za-z0-9_-]{8,}|dapi[0-9a-f]{32}|ph[cx]_[A-Za-z0-9]{16,}|pat-(?:na|eu)[0-9]-[A-Za-z0-9-]{8,}|` +
		`apify_api_[A-Za-z0-9]{8,}|lsv2_[a-z]{2}_[A-Za-z0-9_]{8,}|dp\.(?:pt|st|ct)\.[A-Za-z0-9.]{8,}|` +
		`pscale_(?:tkn|pw)_[A-Za-z0-9_-]{8,}|tskey-[A-Za-z0-9-]{8,}|CFPAT-[A-Za-z0-9_-]{8,}|` +
		`AGE-SECRET-KEY-[A-Z0-9]{8,}|[0-9]{8,10}:[A-Za-z0-9_-]{35}|eyJ[A-Za-z0-9_-]{8,})`)
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

// marked tells whether an issuer's mark is in the text. A credential has a digit or a capital; hf_transfer has none.
func marked(text string) bool {
	for _, match := range issued.FindAllString(text, -1) {
		if strings.ContainsAny(match, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return true
		}
	}
	return false
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
		if (dense.MatchString(word) && run.MatchString(word) || slashed.MatchString(word)) && mixed(word) {
			return true
		}
	}
	return false
}

// mixed tells whether there are digits and letters of both cases.
func mixed(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.ToLower(text) != text && strings.ToUpper(text) != text
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
