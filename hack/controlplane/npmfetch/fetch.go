package main

import (
	"context"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

const (
	publicRegistry = "https://registry.npmjs.org"
	sha512Prefix   = "sha512-"
	// mostBytes bounds one tarball; Node's is the largest, with some 50 MB.
	mostBytes = 256 << 20
	tries     = 3
	// fetchTimeout bounds one try.
	fetchTimeout = 3 * time.Minute
)

// registryFromEnv returns the registry that npm would use by its environment, else the public one.
func registryFromEnv() string {
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		if url := os.Getenv(name); url != "" {
			return url
		}
	}
	return publicRegistry
}

// registry fetches tarballs.
type registry struct {
	url    string
	client *http.Client
	// received counts the bytes of all tarballs, also those of tries that failed.
	received counter
}

// counter counts the bytes that are written to it.
type counter struct{ atomic.Int64 }

func (c *counter) Write(part []byte) (int, error) {
	c.Add(int64(len(part)))
	return len(part), nil
}

func newRegistry(url string) *registry {
	return &registry{url: strings.TrimSuffix(url, "/"), client: &http.Client{Timeout: fetchTimeout}}
}

// errFinal marks a failure that another try would not mend.
var errFinal = errors.New("refused")

// fetch returns the package's tarball, whose sum is the lock's.
func (r *registry) fetch(ctx context.Context, p lockedPackage) ([]byte, error) {
	url := fmt.Sprintf("%s/%s/-/%s-%s.tgz", r.url, p.name(), path.Base(p.name()), p.Version)
	var err error
	for try := range tries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Duration(try) * time.Second):
			}
		}
		var tarball []byte
		if tarball, err = r.get(ctx, url); err == nil {
			return tarball, verify(tarball, p.Integrity)
		}
		if errors.Is(err, errFinal) || ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

func (r *registry) get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusOK:
	case response.StatusCode < http.StatusInternalServerError && response.StatusCode != http.StatusTooManyRequests:
		return nil, fmt.Errorf("%w: status %s", errFinal, response.Status)
	default:
		return nil, fmt.Errorf("status %s", response.Status)
	}
	body, err := io.ReadAll(io.TeeReader(io.LimitReader(response.Body, mostBytes+1), &r.received))
	if err != nil {
		return nil, err
	}
	if len(body) > mostBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", errFinal, mostBytes)
	}
	return body, nil
}

// verify compares the tarball with an integrity of the form sha512-<base64>.
func verify(tarball []byte, integrity string) error {
	want, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(integrity, sha512Prefix))
	if err != nil {
		return fmt.Errorf("integrity in the lock: %w", err)
	}
	got := sha512.Sum512(tarball)
	if subtle.ConstantTimeCompare(got[:], want) != 1 {
		return errors.New("tarball does not have the sha512 that the lock pins")
	}
	return nil
}
