package upstream

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// modernVersion is the protocol version without initialize that Mooring speaks.
const modernVersion = "2026-07-28"

// legacyVersions are those with initialize, newest first.
var legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

func isLegacy(version string) bool { return slices.Contains(legacyVersions, version) }

// newestLegacy is the newest version with initialize that both sides know, "" if there is none.
func newestLegacy(theirs []string) string {
	for _, v := range legacyVersions {
		if slices.Contains(theirs, v) {
			return v
		}
	}
	return ""
}

var (
	versionLike = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	shortToken  = regexp.MustCompile(`^[0-9A-Za-z._-]{1,32}$`)
)

const maxVersions = 12

// offered are the versions that a refusal lists: in the data of a JSON-RPC error, else anywhere in the text, since
// many servers say it in words. The version asked for is often repeated there, and is not an offer.
func offered(data json.RawMessage, text []byte, asked string) []string {
	var listed struct {
		Supported []string `json:"supported"`
	}
	if json.Unmarshal(data, &listed) == nil && len(listed.Supported) > 0 {
		return presentable(listed.Supported)
	}
	var found []string
	for _, match := range versionLike.FindAll(text, -1) {
		if v := string(match); v != asked && !slices.Contains(found, v) && len(found) < maxVersions {
			found = append(found, v)
		}
	}
	return found
}

// presentable keeps what looks like a version, so that nothing else gets into a message.
func presentable(versions []string) []string {
	var out []string
	for _, v := range versions {
		if shortToken.MatchString(v) && len(out) < maxVersions {
			out = append(out, v)
		}
	}
	return out
}

// unmatched is the cause of a failure to agree on a version.
type unmatched struct{ theirs []string }

func (*unmatched) Error() string { return "no protocol version in common" }

// speaksModern reports whether a refusal names the modern version among the server's own.
func speaksModern(err error) bool {
	var u *unmatched
	return errors.As(err, &u) && slices.Contains(u.theirs, modernVersion)
}

// noCommonVersion tells both sides.
func noCommonVersion(ours, theirs []string, status int) error {
	said := "does not say which it speaks"
	if len(theirs) > 0 {
		said = "speaks " + strings.Join(presentable(theirs), ", ")
	}
	none := failure.BadAnswer(failure.Connect, failure.UnsupportedProtocolVersion,
		"the server "+said+"; Mooring speaks "+strings.Join(ours, ", "))
	none.HTTPStatus, none.Cause = status, &unmatched{theirs: theirs}
	return none
}

func allVersions() []string { return append([]string{modernVersion}, legacyVersions...) }

// isModernCode reports whether an error code can only come from a server of the modern era.
func isModernCode(code int64) bool {
	return code == rpc.HeaderMismatch || code == rpc.MissingCapability || code == rpc.UnsupportedVersion
}
