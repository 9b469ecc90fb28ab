package importer

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer/credential"
)

// remote is a server at a URL, under translation.
type remote struct {
	*binder
	url      template
	headers  []pair
	protocol v1alpha1.HTTPProtocol
	basic    string // user-info of the URL, as an Authorization header has it
}

// pair is a header, or a variable of an environment, as the file has it.
type pair struct {
	name  string
	value template
	// secret says that the file declares it one.
	secret bool
}

func (r *remote) translate() error {
	r.spec.HTTP = &v1alpha1.HTTPTransport{Protocol: r.protocol}
	if err := r.address(); err != nil {
		return err
	}
	r.bindHeaders()
	return r.travelsSafely()
}

var (
	hostForm = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\.?|\[[0-9A-Fa-f:.]+\])` +
		`(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$`)
	// nearby are hosts to which credentials may travel over plain http, as the API has it.
	nearby = regexp.MustCompile(`(?i)^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|\[::1\]|` +
		`([a-z0-9-]+[.])+svc([.]cluster[.]local)?[.]?)(:[0-9]+)?([/?]|$)`)
	loopback = regexp.MustCompile(`(?i)^(localhost|127[.][0-9.]+|\[::1\]|host[.]docker[.]internal)(:[0-9]+)?$`)
	notPlain = regexp.MustCompile(`[^!-~]`)
)

// mostURL is the most characters that a URL may have.
const mostURL = 2048

// address translates the URL.
func (r *remote) address() error {
	whole := r.settle(r.url).trim()
	if credential.Unescaped(whole.gapped()) {
		return errors.New("its url may have a password with / ? or # in it, or an @ behind its host: percent-encode them")
	}
	whole, _, fragment := whole.cut("#")
	if fragment {
		r.say("the fragment of url is left out: a server never sees it")
	}
	if len(whole) > 2*mostVariables+1 {
		return fmt.Errorf("it needs more than %d variables", mostVariables)
	}
	before, query, hasQuery := whole.cut("?")
	origin, path, err := r.origin(before)
	if err != nil {
		return err
	}
	address := origin + r.path(path)
	if hasQuery {
		pairs, err := r.query(query)
		if err != nil {
			return err
		}
		if len(pairs) > 0 {
			address += "?" + strings.Join(pairs, "&")
		}
	}
	if _, err := url.ParseRequestURI(address); err != nil || len(address) > mostURL {
		return fmt.Errorf("its url is not valid, or has more than %d characters", mostURL)
	}
	r.spec.HTTP.URL = address
	return nil
}

// noVariable is why a reference cannot be translated in a url's beginning.
const noVariable = "which the file does not tell, and no variable is allowed there"

// scheme takes https:// or http:// off the front. No variable is allowed there.
func (r *remote) scheme(t template) (name string, rest template, err error) {
	before, rest, found := t.cut("://")
	name, literal := before.literal()
	switch name = strings.ToLower(name); {
	case !literal:
		return "", nil, fmt.Errorf("its url begins with %s, %s", before.references(), noVariable)
	case !found:
		return "", nil, errors.New("its url has no scheme such as https://")
	case name != "https" && name != "http":
		return "", nil, fmt.Errorf("its url begins with %s://; Mooring reaches servers by https and http",
			credential.Show(name))
	default:
		return name + "://", rest, nil
	}
}

// origin is scheme://host:port, and the path behind it. No variable is allowed in it.
func (r *remote) origin(before template) (string, template, error) {
	scheme, rest, err := r.scheme(before)
	if err != nil {
		return "", nil, err
	}
	authority, path, slash := rest.cut("/")
	if slash {
		path = join(fixed("/"), path)
	}
	host, ok := authority.literal()
	if !ok {
		return "", nil, fmt.Errorf("the host of its url has %s, %s", authority.references(), noVariable)
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		r.userInfo(host[:at])
		host = host[at+1:]
	}
	if !hostForm.MatchString(host) {
		return "", nil, errors.New("the host of its url is not valid")
	}
	if loopback.MatchString(host) {
		r.say("url leads to the machine itself: in a cluster that is the manager's own pod, which is refused " +
			"unless the manager has --allow-loopback")
	}
	return scheme + host, path, nil
}

// userInfo makes a header of user:password@, as clients do.
func (r *remote) userInfo(info string) {
	decoded, err := url.PathUnescape(info)
	if err != nil {
		decoded = info
	}
	r.basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(decoded))
}

// path translates what begins with the first slash, if anything does. A segment that looks drawn at random is a
// credential.
func (r *remote) path(t template) string {
	var out strings.Builder
	at := spot{"a part of the path of url", "url-path"}
	sensitive := credential.UserInfo(t.gapped()) // of a URL in the path
	for _, segment := range t.split("/")[1:] {
		literal, _ := segment.literal()
		if _, err := url.PathUnescape(literal); err != nil { // which makes the URL invalid
			out.WriteString("/" + literal)
			continue
		}
		out.WriteString("/" + r.piece(segment, at, sensitive, url.PathUnescape))
	}
	return out.String()
}

// piece translates a part of the path or the query. Values of Secrets are escaped when they are put there, so they are
// kept unescaped.
func (r *remote) piece(t template, at spot, sensitive bool, unescape func(string) (string, error)) string {
	literal, isLiteral := t.literal()
	if plain, err := unescape(literal); err == nil && isLiteral {
		if !sensitive && credential.Harmless(plain) {
			return notPlain.ReplaceAllStringFunc(escape(literal), url.PathEscape)
		}
		t = fixed(plain)
	}
	return notPlain.ReplaceAllStringFunc(r.inline(t, at, sensitive), url.PathEscape)
}

// query translates key=value pairs.
func (r *remote) query(t template) ([]string, error) {
	var pairs []string
	for _, pair := range t.split("&") {
		key, content, valued := pair.cut("=")
		name, ok := key.literal()
		switch {
		case !ok:
			return nil, fmt.Errorf("a key of its url's query has %s; variables are allowed in values only", key.references())
		case !credential.Harmless(name):
			return nil, errors.New("a key of its url's query may be a credential; it would be in clear text")
		case name == "" && len(content) == 0:
			continue
		}
		name = notPlain.ReplaceAllStringFunc(name, url.QueryEscape)
		if written := r.parameter(name, content, valued); written != "" {
			pairs = append(pairs, written)
		}
	}
	return pairs, nil
}

// parameter translates one pair; it returns nothing for one that is left out. A value whose key speaks of a credential
// to the API must be one variable and nothing else.
func (r *remote) parameter(name string, content template, valued bool) string {
	at := spot{"query parameter " + credential.Show(name) + " of url", keyName(name)}
	if !credential.QueryKey.MatchString(name) {
		plain, err := url.QueryUnescape(name)
		if valued {
			name += "=" + r.piece(content, at, err == nil && credential.Named(plain), url.QueryUnescape)
		}
		return name
	}
	if known, ok := content.known(); ok && strings.TrimSpace(known) == "" {
		r.say("%s is left out: it is empty", at.shown)
		return ""
	}
	if literal, ok := content.literal(); ok {
		if plain, err := url.QueryUnescape(literal); err == nil {
			content = fixed(plain)
		}
	}
	return name + "=" + r.variable(r.whole(content, at))
}

// travelsSafely refuses what the API would: a credential over plain http to a host that is not near.
func (r *remote) travelsSafely() error {
	http := r.spec.HTTP
	if !strings.HasPrefix(http.URL, "http://") || nearby.MatchString(http.URL) {
		return nil
	}
	sends, varies := http.Auth != nil, strings.Contains(http.URL, "$(")
	for _, h := range http.Headers {
		sends = sends || h.ValueFrom != nil
		varies = varies || strings.Contains(h.Value, "$(")
	}
	if sends || varies && len(r.spec.Variables) > 0 {
		return errors.New("it would send a credential over plain http: give it an https url, or one that ends in .svc")
	}
	return nil
}
