package cel

import (
	"strings"
	"testing"
)

const (
	urlScheme    = "url must begin with https:// or http://"
	urlPrintable = "url must be printable ASCII without spaces: percent-encode other characters"
	urlUserInfo  = "url must not hold user-info (user:password@): put the credential in a Secret and refer to it " +
		"from auth or headers"
	urlFragment = "url must not have a fragment (#...): a server never sees it"
	urlVariable = "$(NAME) is allowed only in the path and query of url, not in its scheme, host or port"
	urlValid    = "url must be a valid URL with a host, such as https://mcp.example.com/mcp: check its host, port " +
		"and percent-encoding"
	urlCredential = "a query parameter of url that looks like a credential (key, token, secret, ...) must have " +
		"exactly one $(NAME) as its value: define NAME in spec.variables with valueFrom"
)

func httpURL(url string) string {
	return `http: {url: "` + url + `"}`
}

func urlRefused(name, url, message string) refused {
	return refused{name: name, spec: httpURL(url), want: invalid("spec.http.url", message)}
}

var urlAcceptances = []accepted{
	{"https", httpURL("https://mcp.example.com/mcp")},
	{"http without a credential", httpURL("http://mcp.example.com/mcp")},
	{"no path", httpURL("https://mcp.example.com")},
	{"query without a path", httpURL("https://mcp.example.com?org=acme")},
	{"root of a host with a final dot", httpURL("https://mcp.example.com./")},
	{"host without a dot", httpURL("http://mcp-server/mcp")},
	{"host with an underscore", httpURL("http://mcp_server/mcp")},
	{"lowest port", httpURL("https://mcp.example.com:1/mcp")},
	{"highest port", httpURL("https://mcp.example.com:65535/mcp")},
	{"IPv4 address", httpURL("http://10.1.2.3:8080/mcp")},
	{"IPv6 address", httpURL("http://[fd00::1]:8080/mcp")},
	{"at sign in the path", httpURL("https://mcp.example.com/@acme/mcp")},
	{"at sign in the query", httpURL("https://mcp.example.com/mcp?mail=a@b.example")},
	{"percent-encoding", httpURL("https://mcp.example.com/a%20b/mcp?q=%C3%A9")},
	{"variable in the path", httpURL("https://mcp.example.com/$(ORG)/mcp")},
	{"variable in the query", httpURL("https://mcp.example.com/mcp?org=$(ORG)&team=x-$(TEAM)-y")},
	{"credential by a variable", httpURL("https://mcp.example.com/mcp?api_key=$(KEY)")},
	{"several credentials by variables", httpURL("https://mcp.example.com/mcp?token=$(T)&org=x&sig=$(S)")},
	{"key that only contains a telling word", httpURL("https://mcp.example.com/mcp?monkey=a&keyboard=b&tokenizer=c" +
		"&author=d&design=e&max_tokens=100")},
	{"telling word in the path", httpURL("https://mcp.example.com/token=abc/mcp")},
	{"telling word as a value", httpURL("https://mcp.example.com/mcp?mode=token")},
	{"2048 characters", httpURL("https://mcp.example.com/" + strings.Repeat("a", 2048-24))},
}

var urlRefusals = []refused{
	urlRefused("no scheme", "mcp.example.com/mcp", urlScheme),
	urlRefused("other scheme", "ftp://mcp.example.com/mcp", urlScheme),
	urlRefused("websocket", "wss://mcp.example.com/mcp", urlScheme),
	urlRefused("upper case scheme", "HTTPS://mcp.example.com/mcp", urlScheme),
	urlRefused("user and password", "https://alice:canary@mcp.example.com/mcp", urlUserInfo),
	urlRefused("user alone", "https://alice@mcp.example.com/mcp", urlUserInfo),
	urlRefused("fragment", "https://mcp.example.com/mcp#tools", urlFragment),
	urlRefused("fragment after the host", "https://mcp.example.com#tools", urlFragment),
	urlRefused("variable as host", "https://$(HOST)/mcp", urlVariable),
	urlRefused("variable in the host", "https://$(ORG).example.com/mcp", urlVariable),
	urlRefused("variable as port", "https://mcp.example.com:$(PORT)/mcp", urlVariable),
	urlRefused("space in the path", "https://mcp.example.com/my tools", urlPrintable),
	urlRefused("non-ASCII path", "https://mcp.example.com/werkzeuge/für", urlPrintable),
	urlRefused("line break", `https://mcp.example.com/mcp\n`, urlPrintable),
	urlRefused("no host", "https:///mcp", urlValid),
	urlRefused("no host but a port", "https://:8080/mcp", urlValid),
	urlRefused("broken percent-encoding", "https://mcp.example.com/%zz", urlValid),
	urlRefused("port in words", "https://mcp.example.com:http/mcp", urlValid),
	urlRefused("port 0", "https://mcp.example.com:0/mcp", urlValid),
	urlRefused("port too high", "https://mcp.example.com:65536/mcp", urlValid),
	urlRefused("port without end", "https://mcp.example.com:80808080808080808080/mcp", urlValid),
	urlRefused("unclosed IPv6 address", "http://[fd00::1/mcp", urlValid),
	urlRefused("backslash in the host", `https://mcp.example.com\\@evil.example`, urlUserInfo),
	urlRefused("token in clear", "https://mcp.example.com/mcp?token=canary", urlCredential),
	urlRefused("key in clear, second", "https://mcp.example.com/mcp?org=acme&key=canary", urlCredential),
	urlRefused("upper case", "https://mcp.example.com/mcp?TOKEN=canary", urlCredential),
	urlRefused("part before an underscore", "https://mcp.example.com/mcp?key_id=canary", urlCredential),
	urlRefused("part after a hyphen", "https://mcp.example.com/mcp?x-sig=canary", urlCredential),
	urlRefused("part between dots", "https://mcp.example.com/mcp?a.secret.b=canary", urlCredential),
	urlRefused("part after an encoded underscore", "https://mcp.example.com/mcp?api%5Fkey=canary", urlCredential),
	urlRefused("apikey", "https://mcp.example.com/mcp?apikey=canary", urlCredential),
	urlRefused("camel case", "https://mcp.example.com/mcp?accessToken=canary", urlCredential),
	urlRefused("password", "https://mcp.example.com/mcp?password=canary", urlCredential),
	urlRefused("auth", "https://mcp.example.com/mcp?auth=canary", urlCredential),
	urlRefused("value that only begins with a variable", "https://mcp.example.com/mcp?key=$(K)canary", urlCredential),
	urlRefused("value that only ends with a variable", "https://mcp.example.com/mcp?key=canary$(K)", urlCredential),
	urlRefused("two variables as one value", "https://mcp.example.com/mcp?key=$(A)$(B)", urlCredential),
	urlRefused("bad variable name", "https://mcp.example.com/mcp?key=$(1A)", urlCredential),
	urlRefused("no value", "https://mcp.example.com/mcp?key=", urlCredential),
	urlRefused("no equals sign", "https://mcp.example.com/mcp?key", urlCredential),
	urlRefused("second of the same name", "https://mcp.example.com/mcp?key=$(K)&key=canary", urlCredential),
	{"empty", httpURL(""), []string{
		`spec.http.url: Invalid value: "": spec.http.url in body should be at least 1 chars long`,
		"spec.http.url: Invalid value: " + urlScheme,
	}},
	{"2049 characters", httpURL("https://mcp.example.com/" + strings.Repeat("a", 2049-24)), []string{
		"spec.http.url: Too long: may not be more than 2048 bytes",
	}},
	{"missing", `http: {}`, []string{"spec.http.url: Required value"}},
}

func TestURLAccepted(t *testing.T) { runAccepted(t, mcpServer, urlAcceptances) }

func TestURLRefused(t *testing.T) { runRefused(t, mcpServer, urlRefusals) }
