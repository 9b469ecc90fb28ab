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
	secretWords = Set("token secret password passwd passphrase pwd pw pass apikey key auth authorization bearer jwt pat " +
		"credential credentials cred cookie signature sig dsn accesstoken authtoken secretkey privatekey clientsecret " +
		"apitoken passcode accesskey authkey sharedkey storagekey masterkey mnemonic otp totp hmac")
	// fusedEnds are words that speak of a secret also at the end of a longer one.
	fusedEnds = []string{"token", "password", "passwd", "passphrase", "passcode", "secret", "apikey", "accesskey",
		"secretkey", "privatekey", "authkey", "credential"}
	counting = Set("max min num number total input output prompt context completion thinking")
	// harmlessLast are last words of names that speak of a secret without being one, such as TOKEN_URL.
	harmlessLast = Set("file path dir url uri endpoint host port type mode limit limits enabled disabled ttl timeout " +
		"expiry issuer algorithm alg header scheme provider length size count budget name region version method format " +
		"env var variable username email domain audience realm scope scopes prefix suffix stdin sock socket policy")
	// harmlessOwners are what an id belongs to that is no secret, whatever is before it: AUTH0_CLIENT_ID.
	harmlessOwners = Set("client app application tenant user account team org organization project")
	// refusing are first words of switches, such as --no-auth.
	refusing = Set("no disable skip without")
	// keyed are names that hold a key though none of their words says so.
	keyed = Set("x-honeycomb-team")
	// exporting are words of what sends observations, whose headers are there to authorize.
	exporting = Set("otlp otel")
	// headerLast are last words of headers that hold a credential where other names with them need not.
	headerLast = Set("access session sid")
)

// Set makes a set of words that are separated by blanks.
func Set(list string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		out[word] = true
	}
	return out
}

// Named tells whether a value of this name (of a header, a variable, a flag) is a credential.
func Named(name string) bool {
	parts := Words(name)
	if len(parts) == 0 || refusing[parts[0]] || harmlessEnd(parts) {
		return false
	}
	if keyed[strings.Join(parts, "-")] || exportsHeaders(parts) {
		return true
	}
	for _, part := range parts {
		if secretWord(part, parts) {
			return true
		}
	}
	return false
}

// Header tells whether a header of this name has a credential: those of Named, and X-Access or X-Session-Id.
func Header(name string) bool {
	parts := Words(name)
	if n := len(parts); n > 1 && parts[n-1] == "id" {
		parts = parts[:n-1]
	}
	return Named(name) || len(parts) > 0 && headerLast[parts[len(parts)-1]]
}

// harmlessEnd tells whether a name ends in a word that makes it harmless. A header that is there to authorize, as in
// AUTH_HEADER, is given as its value; another, as in API_KEY_HEADER, as its name.
func harmlessEnd(parts []string) bool {
	last, before := parts[len(parts)-1], ""
	if len(parts) > 1 {
		before = parts[len(parts)-2]
	}
	switch last {
	case "id":
		return harmlessOwners[before]
	case "header":
		return before != "auth" && before != authorization
	default:
		return harmlessLast[last]
	}
}

// exportsHeaders tells whether a name is that of a list of headers, such as OTEL_EXPORTER_OTLP_HEADERS.
func exportsHeaders(parts []string) bool {
	exports := func(part string) bool { return exporting[part] }
	return parts[len(parts)-1] == "headers" && slices.ContainsFunc(parts, exports)
}

const authorization = "authorization"

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

// Words takes a name apart at what is no letter or digit, where lower case turns to upper case, and before the last
// capital of several that begins a word (AWSKey), in lower case.
func Words(name string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case i > 0 && unicode.IsUpper(r) && begins(runes[i-1], runes[i+1:]):
			end()
		}
		word = append(word, r)
	}
	end()
	return out
}

// begins tells whether a capital begins a word, by what is around it. The s of a plural makes no word of a capital.
func begins(before rune, after []rune) bool {
	if unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	plural := len(after) > 0 && after[0] == 's' && (len(after) == 1 || !unicode.IsLower(after[1]))
	return unicode.IsUpper(before) && len(after) > 0 && unicode.IsLower(after[0]) && !plural
}
