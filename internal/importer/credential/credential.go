package credential

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// QueryKey is the API's own rule for keys of a URL's query that must not hold a value in clear.
var QueryKey = regexp.MustCompile(`(?i)^([^=]*(%[0-9a-f][0-9a-f]|[^a-z0-9=]))?` +
	`(api|access|account|auth|bearer|client|id|personal|private|refresh|secret|session|subscription|user)?` +
	`(token|key|secret|sig|signature|password|passwd|passphrase|pwd|auth|authorization|credentials?|bearer|jwt)` +
	`([^a-z0-9=][^=]*)?(=.*)?$`)

var (
	secretWords = set("token secret password passwd passphrase pwd pw pass apikey key auth authorization bearer jwt pat " +
		"credential credentials cookie signature sig dsn accesstoken authtoken secretkey privatekey clientsecret apitoken")
	// fusedEnds are words that speak of a secret also at the end of a longer one.
	fusedEnds = []string{"token", "password", "passwd", "passphrase", "secret", "apikey", "credential"}
	counting  = set("max min num number total input output prompt context completion thinking")
	// harmlessLast are last words of names that speak of a secret without being one, such as TOKEN_URL.
	harmlessLast = set("file path dir url uri endpoint host port type mode limit limits enabled disabled ttl timeout " +
		"expiry issuer algorithm alg header scheme provider length size count budget name region version method format")
)

func set(list string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		out[word] = true
	}
	return out
}

// Named tells whether a value of this name (of a header, a variable, a flag) is a credential.
func Named(name string) bool {
	parts := Words(name)
	if len(parts) == 0 || harmlessLast[parts[len(parts)-1]] {
		return false
	}
	for _, part := range parts {
		if secretWord(part, parts) {
			return true
		}
	}
	return false
}

// secretWord tells whether one word of a name speaks of a secret: as it is, numbered, in the plural, or behind another
// word without anything between, such as PGPASSWORD. Tokens that are counted are those of a model.
func secretWord(word string, name []string) bool {
	word = strings.TrimRight(word, "0123456789")
	if secretWords[word] {
		return true
	}
	if single, plural := strings.CutSuffix(word, "s"); plural {
		if single == "token" && slices.ContainsFunc(name, func(part string) bool { return counting[part] }) {
			return false
		}
		word = single
	}
	return secretWords[word] || slices.ContainsFunc(fusedEnds, func(end string) bool {
		return strings.HasSuffix(word, end)
	})
}

// Words takes a name apart at what is no letter or digit and where lower case turns to upper case, in lower case.
func Words(name string) []string {
	var out []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	lower := false
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			lower = false
			continue
		}
		if lower && unicode.IsUpper(r) {
			end()
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		word.WriteRune(unicode.ToLower(r))
	}
	end()
	return out
}

var (
	// issued are credentials that their issuers mark: code hosts, clouds, chats, models, package registries.
	issued = regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:gh[opusr]_[A-Za-z0-9]{8,}|github_pat_[A-Za-z0-9_]{8,}|` +
		`glpat-[A-Za-z0-9_-]{8,}|(?:sk|rk|pk)[-_][A-Za-z0-9_-]{8,}|xox[abeprs]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}|` +
		`(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{8,}|npm_[A-Za-z0-9]{16,}|` +
		`pypi-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{8,}|lin_api_[A-Za-z0-9]{8,}|ntn_[A-Za-z0-9]{8,}|figd_[A-Za-z0-9_-]{8,}|` +
		`SG\.[A-Za-z0-9_-]{8,}|shp(?:at|ca|pa|ss)_[A-Za-z0-9]{8,}|dop_v1_[a-f0-9]{8,}|tvly-[A-Za-z0-9-]{8,}|` +
		`pplx-[A-Za-z0-9]{8,}|gsk_[A-Za-z0-9]{8,}|r8_[A-Za-z0-9]{8,}|eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+\.)`)
	// told are credentials that stand behind their names: user-info, keys of a query or a connection string, schemes.
	told = regexp.MustCompile(`(?i)://[^/?#\s@:]*:[^/?#\s@]+@|^(?:bearer|basic)\s+\S|\bbearer\s+\S{8,}|-----BEGIN |` +
		`authorization["']?\s*:\s*["']?\S|` +
		`(?:^|[^a-z0-9])(?:token|secret|password|passwd|api[-_]?key|access[-_]?key|auth[-_]?key)["']?\s*:\s*["']?[^\s"',}]|` +
		`(?:^|[;?&\s])(?:password|passwd|pwd|token|secret|api[-_]?key|key|access[-_]?token|account[-_]?key|` +
		`client[-_]?secret|sharedaccesskey|sig)=[^\s;&]`)
	dense = regexp.MustCompile(`^[A-Za-z0-9+_=-]{32,}$`)
	hexed = regexp.MustCompile(`^(?:[0-9a-f]{32,}|[0-9A-F]{32,})$`)
	// wanting are texts that a document has in the place of a credential.
	wanting = regexp.MustCompile(`(?i)^(?:(?:bearer |token )?<[^<>]*>|\[[^\[\]":]*\]|\{[^{}":]*\}|` +
		`(?:bearer )?your[-_ ].*|` +
		`my[-_ ](?:api[-_ ])?(?:key|token|secret)|.*[-_ ]here|x{3,}|\.{3,}|…|\*{3,}|` +
		`(?:replace|change|insert|fill)[-_ ]?(?:me|this|in|with|your)(?:[-_ ].*)?|todo|tbd)$`)
)

// Looks tells whether a text is, or holds, a credential by its own look.
func Looks(text string) bool {
	return issued.MatchString(text) || told.MatchString(text) || random(text)
}

// random tells whether a text looks drawn at random: long, dense, with all kinds of characters or all hexadecimal.
func random(text string) bool {
	if hexed.MatchString(text) {
		return true
	}
	return dense.MatchString(text) && strings.ContainsAny(text, "0123456789") &&
		strings.ToLower(text) != text && strings.ToUpper(text) != text
}

// Wanting tells whether a text only stands where a credential is wanted.
func Wanting(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || wanting.MatchString(text)
}

// Switch tells whether a value is no credential whatever its name: nothing, or a switch.
func Switch(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return true
	default:
		return false
	}
}

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
