package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/secret"
)

// TokenSource gives a bearer token for each request. It answers from memory wherever it can, and honours ctx where it
// cannot. An error that is no *failure.Error becomes class auth, reason TokenAcquisitionFailed.
type TokenSource interface {
	Token(ctx context.Context) (secret.Value, error)
}

// Renewer is a TokenSource that can replace a token which the server refused. Renew returns another one, by the rules
// of Token; the zero Value without an error says that there is none, and the refusal is final.
type Renewer interface {
	TokenSource
	Renew(ctx context.Context, refused secret.Value) (secret.Value, error)
}

// Header is one configured header.
type Header struct {
	Name  string
	Value secret.Value
}

// Credentials are what every request carries. Values are trimmed of the white space around them, since Secrets made
// from files end in a newline.
type Credentials struct {
	Headers []Header
	Bearer  secret.Value
	Tokens  TokenSource
}

// reserved are the headers that belong to HTTP or to MCP and are not the user's to set.
var reserved = map[string]bool{
	"Accept": true, "Connection": true, "Content-Encoding": true, "Content-Length": true, "Content-Type": true,
	"Keep-Alive": true, "Last-Event-Id": true, "Mcp-Method": true, "Mcp-Name": true, "Mcp-Protocol-Version": true,
	"Mcp-Session-Id": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true,
	"Upgrade": true,
}

// Check tells what cannot be sent. Its error names the header and never the value.
func (c Credentials) Check() error {
	for _, h := range c.Headers {
		switch name := http.CanonicalHeaderKey(h.Name); {
		case !httpguts.ValidHeaderFieldName(h.Name):
			return errors.New("header name with a character that HTTP forbids")
		case reserved[name] || strings.HasPrefix(name, "Mcp-Param-"):
			return fmt.Errorf("header %s is set by Mooring itself", name)
		case !httpguts.ValidHeaderFieldValue(trimmed(h.Value)):
			return fmt.Errorf("value of header %s has a character that HTTP forbids", name)
		}
	}
	if !httpguts.ValidHeaderFieldValue(trimmed(c.Bearer)) {
		return errors.New("bearer token with a character that HTTP forbids")
	}
	return nil
}

func trimmed(v secret.Value) string { return strings.Trim(v.Reveal(), " \t\r\n\v\f") }

// token is the bearer token to send, the zero Value for none.
func (c Credentials) token(ctx context.Context) (secret.Value, error) {
	if c.Tokens == nil {
		return c.Bearer, nil
	}
	token, err := c.Tokens.Token(ctx)
	if err != nil {
		return secret.Value{}, tokenFault(ctx, err)
	}
	return token, nil
}

// renewed is another token than the one refused, the zero Value for none.
func (c Credentials) renewed(ctx context.Context, refused secret.Value) (secret.Value, error) {
	source, can := c.Tokens.(Renewer)
	if !can {
		return secret.Value{}, nil
	}
	token, err := source.Renew(ctx, refused)
	if err != nil {
		return secret.Value{}, tokenFault(ctx, err)
	}
	return token, nil
}

func (c Credentials) apply(req *http.Request, token secret.Value) {
	for _, h := range c.Headers {
		if strings.EqualFold(h.Name, "Host") {
			req.Host = trimmed(h.Value)
			continue
		}
		req.Header.Set(h.Name, trimmed(h.Value))
	}
	if text := trimmed(token); text != "" {
		req.Header.Set("Authorization", "Bearer "+text)
	}
}

func tokenFault(ctx context.Context, err error) error {
	var known *failure.Error
	if errors.As(err, &known) || ctx.Err() != nil {
		return err
	}
	return &failure.Error{
		Failure: failure.Failure{Class: failure.Auth, Reason: failure.TokenAcquisitionFailed}, Cause: err,
	}
}
